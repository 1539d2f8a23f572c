// A client in TypeScript, tested against the mock: each test has a bench of its own, so all run at once.
//
//   trigger-mock                                   (in another terminal)
//   node --test examples/typescript/bench.test.ts  (Node 22.18 or later runs TypeScript as it is)

import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';

import { Bench, type Setup } from './bench.ts';

/** The client under test: what it recalls, or nothing when the service fails. It tries once more on 503. */
async function recall(bench: Bench, body: object, attempts = 2): Promise<string[]> {
  const response = await fetch(`${bench.url}/v1/memories/trigger`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'x-api-key': bench.apiKey },
    body: JSON.stringify({ mode: 'retrieve', ...body }),
  });
  if (response.status === 503 && attempts > 1) {
    return recall(bench, body, attempts - 1);
  }
  if (!response.ok) {
    return [];
  }
  const { data } = (await response.json()) as { data: { text: string }[] };
  return data.map((row) => row.text);
}

async function open(context: TestContext, setup: Setup = {}): Promise<Bench> {
  const bench = await Bench.open(setup);
  context.after(() => bench.close());
  return bench;
}

const editing = { user_id: 'user-123', action: { tool: 'Edit', args: { file_path: 'src/tool_loop.py' } } };
const lesson = { user_id: 'user-123', text: 'Call finalize() in a finally block.', trigger_entities: ['tool_loop.py'] };

describe('a client of the trigger endpoint', { concurrency: true }, () => {
  test('is told what was learnt about the file that it edits', async (context) => {
    const bench = await open(context);
    await bench.addRow(lesson);
    assert.deepEqual(await recall(bench, editing), ['Call finalize() in a finally block.']);
  });

  test('sends the tool and its arguments', async (context) => {
    const bench = await open(context);
    void recall(bench, editing);
    const [call] = await bench.waitForCalls(1, { tool: 'Edit' });
    assert.deepEqual(call.request.body.action, editing.action);
    assert.ok(call.fired.includes('tool_loop.py'));
  });

  test('tries once more when the service is not available', async (context) => {
    const bench = await open(context);
    await bench.addRow(lesson);
    await bench.failNext(1, { kind: 'error', status: 503 });
    assert.equal((await recall(bench, editing)).length, 1);
    assert.deepEqual((await bench.calls()).map((call) => call.response.status), [503, 200]);
  });

  test('is quiet beyond its rate, and heard again in the next minute', async (context) => {
    const bench = await open(context, { fixtures: { organisations: { tests: { rate_limit: '2/minute', keys: ['any'] } } } });
    await bench.addRow(lesson);
    await bench.freezeClock();
    const counts = [];
    for (let call = 0; call < 3; call += 1) {
      counts.push((await recall(bench, editing)).length);
    }
    await bench.advanceClock(60);
    counts.push((await recall(bench, editing)).length);
    assert.deepEqual(counts, [1, 1, 0, 1]);
  });

  test('learns from an explanation why nothing came back', async (context) => {
    const bench = await open(context);
    await bench.addRow(lesson);
    const explanation = await bench.explain({ user_id: 'user-123', action: { tool: 'x', input: { file_path: 'tool_loop.py' } } });
    assert.match(explanation.unread[0].sentence, /action\.input/);
    assert.match(explanation.unread[0].change, /action\.args/);
  });
});
