"""Wrong about methods: others than POST are served, or fail."""

from __future__ import annotations

from tests.servers.behaviour import Behaviour, Visit
from tests.servers.messages import Refusal, Reply
from tests.servers.variants.fields import nothing_recalled
from tests.servers.variants.registry import breaks


class _Method(Behaviour):
    """Does something about one more method."""

    async def serve(self, visit: Visit) -> Reply:
        return await super().serve(visit) if visit.call.method == "POST" else self.other(visit)

    def other(self, visit: Visit) -> Reply:
        raise NotImplementedError


@breaks("HTTP-1", name="get-served", story="The route is registered for GET too, for a health check.")
class GetServed(_Method):
    methods = ("POST", "GET")

    def other(self, visit: Visit) -> Reply:
        return Reply(200, nothing_recalled())


@breaks("HTTP-1", name="put-served", story="The proxy in front maps PUT and PATCH to POST.")
class PutServed(Behaviour):
    methods = ("POST", "PUT", "PATCH")


@breaks("HTTP-1", name="delete-500", story="DELETE reaches a handler that was never written.")
class Delete500(_Method):
    methods = ("POST", "DELETE")

    def other(self, visit: Visit) -> Reply:
        raise Refusal(500, "trigger_failed", "internal error")


@breaks("HTTP-1", name="patch-501", story="What is not implemented says so with a 501.")
class Patch501(_Method):
    methods = ("POST", "PATCH")

    def other(self, visit: Visit) -> Reply:
        raise Refusal(501, "server_error", "not implemented")


@breaks("HTTP-1", name="head-200", story="The balancer probes with HEAD, so HEAD is answered.")
class Head200(_Method):
    methods = ("POST", "HEAD")

    def other(self, visit: Visit) -> Reply:
        return Reply(200, b"")


@breaks(
    "HTTP-1",
    name="options-served",
    story="Every method but GET runs the same handler; OPTIONS answers with an empty search.",
)
class OptionsServed(_Method):
    methods = ("POST", "OPTIONS")

    def other(self, visit: Visit) -> Reply:
        return Reply(200, nothing_recalled())


@breaks("HTTP-1", name="get-redirects", story="Browsers are sent on to the documentation.")
class GetRedirects(_Method):
    methods = ("POST", "GET")

    def other(self, visit: Visit) -> Reply:
        return Reply(302, {}, {"Location": "/docs"})
