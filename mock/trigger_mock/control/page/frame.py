"""What all pages have in common: the frame around them, their assets, what a browser may do with them, and
where a form leads.

A form must come from a page of this server: the guard turns away other sites, and here a browser that says
nothing of where it comes from is turned away as well.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, NoReturn
from urllib.parse import urlsplit

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.exceptions import Forbidden, HTTPException, NotFound, Unauthorized
from werkzeug.wrappers import Response as AnyResponse

from trigger_mock.benches import Bench, UnknownBench
from trigger_mock.control.page import texts
from trigger_mock.control.room import Declined, benches

routes = Blueprint("page", __name__, template_folder="../templates")

_ASSETS = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
#: Forms send their own origin under `same-origin`; under `no-referrer` a browser would send none.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
#: What a form has done, for the page that it leads to.
_DONE = {
    "cleared": "All calls are forgotten.",
    "reset": "The bench is as at its start.",
    "frozen": "The clock stands still.",
    "running": "The clock runs.",
    "advanced": "The clock has moved.",
    "on": "The fault is on: calls meet it from now on.",
    "off": "The fault is off.",
    "all-off": "All faults are off.",
}


@routes.app_template_global()
def page_url(view: str, **values: Any) -> str:
    """The address of a page."""
    return url_for(f"page.{view}", **values)


@routes.record_once
def _filters(state: Any) -> None:
    state.app.jinja_env.filters.update(
        visible=texts.visible,
        cut=texts.cut,
        inline=texts.inline,
        folded=texts.folded,
        block=texts.block,
        json=texts.json_block,
        compact=texts.compact,
    )
    state.app.jinja_env.trim_blocks = state.app.jinja_env.lstrip_blocks = True


@routes.before_request
def _from_this_page() -> None:
    if request.method == "POST":
        said = request.headers.get("Origin") or request.headers.get("Referer") or ""
        if urlsplit(said).netloc != request.host:
            raise Forbidden("A form is taken from this page only; scripts have the JSON routes.")


@routes.after_request
def _protected(response: Response) -> Response:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response


@routes.get("/page/<asset>")
def asset(asset: str) -> Response:
    """The style sheet, the script, the icon."""
    if asset not in _ASSETS:
        raise NotFound("There is no such page.")
    content = files("trigger_mock.control").joinpath("assets", asset).read_bytes()
    response = Response(content, mimetype=_ASSETS[asset], headers={"Cache-Control": "no-cache"})
    response.add_etag()
    return response.make_conditional(request)  # type: ignore[return-value]


@routes.get("/page/<bench>/<path:rest>")
def nothing(bench: str, rest: str) -> NoReturn:  # noqa: ARG001 - wherever it is
    """No page."""
    raise NotFound("There is no such page.")


@routes.get("/page/")
def chosen() -> AnyResponse:
    """The bench that the chooser was set to."""
    return redirect(url_for("page.calls", bench=request.args.get("bench", "default")), 303)


def bench_of(name: str) -> Bench:
    """The bench that a page is about. Raises `UnknownBench`."""
    return benches().named(name)


def page(template: str, bench: Bench, here: str, **values: Any) -> str:
    """A page within the frame. `here`: the part of the navigation that it belongs to."""
    return render_template(
        template,
        bench=bench,
        benches=[each.name for each in benches()],
        here=here,
        done=_DONE.get(request.args.get("done", "")),
        **values,
    )


def done(view: str, bench: Bench, what: str) -> AnyResponse:
    """Lead to a page that says what was done."""
    return redirect(url_for(f"page.{view}", bench=bench.name, done=what), 303)


@routes.errorhandler(Forbidden)
@routes.errorhandler(Unauthorized)
def _turned_away(error: HTTPException) -> AnyResponse:
    """Whoever may not speak to us sees no page: it would name the benches."""
    return error.get_response()


@routes.errorhandler(HTTPException)
@routes.errorhandler(Declined)
@routes.errorhandler(UnknownBench)
def _declined(error: Exception) -> tuple[str, int]:
    """What could not be done, as a page."""
    if isinstance(error, Declined):
        status, message = error.status, str(error)
    elif isinstance(error, HTTPException):
        status, message = error.code or 500, error.description or error.name
    else:
        status, message = 404, str(error.args[0])
    default = benches().default
    return page("declined.html", default, "", status=status, message=message), status
