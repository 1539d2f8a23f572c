// A bench of the mock in a test's hands, over its control plane: rows, calls, faults and a clock of its own.
// Nothing but Node's own fetch. Copy it into your tests and add what you need.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface Row {
  id: string;
  type: string;
  text: string;
  trigger_entities: string[];
}

export interface Call {
  number: number;
  request: { body: any };
  response: { status: number; body: any };
  fired: string[];
  hints: string[];
  missed: string[];
  fault: string | null;
}

export interface Setup {
  name?: string;
  from?: 'empty' | 'default';
  fixtures?: Json;
}

const SERVER = process.env.TRIGGER_MOCK_URL ?? 'http://127.0.0.1:8900';

export class Bench {
  readonly name: string;
  readonly apiKey: string;
  /** The base URL that a client is given; its key alone leads it into this bench. */
  readonly url: string = SERVER;

  private constructor(made: { name: string; api_key: string }) {
    this.name = made.name;
    this.apiKey = made.api_key;
  }

  static async open(setup: Setup = {}): Promise<Bench> {
    return new Bench(await control('POST', '/benches', setup as Json));
  }

  /** Add a lesson, or replace the one with its id. */
  async addRow(row: { [field: string]: Json }): Promise<Row> {
    const { memories } = await this.#ask('POST', '/rows', { type: 'lesson', ...row });
    return memories[0];
  }

  async calls(): Promise<Call[]> {
    return (await this.#ask('GET', '/calls')).calls;
  }

  /** Wait on the server, not in a sleep, until so many calls match; `filters` are those of the journal. */
  async waitForCalls(count: number, filters: Record<string, string> = {}, seconds = 5): Promise<Call[]> {
    const query = new URLSearchParams({ ...filters, count: String(count), timeout: String(seconds) });
    const { satisfied, calls } = await this.#ask('GET', `/calls/wait?${query}`);
    if (!satisfied) {
      throw new Error(`${calls.length} of ${count} calls within ${seconds} s`);
    }
    return calls;
  }

  /** Make the next calls go wrong; a fault is for instance { kind: 'error', status: 503 }. */
  async failNext(times: number, fault: Json): Promise<void> {
    await this.#ask('POST', '/faults', { fault, times });
  }

  /** Why a request is answered as it is, without sending it. */
  async explain(body: Json): Promise<any> {
    return this.#ask('POST', '/explain', body);
  }

  async freezeClock(): Promise<void> {
    await this.#ask('PUT', '/clock', { frozen: true });
  }

  async advanceClock(seconds: number): Promise<void> {
    await this.#ask('POST', '/clock/advance', { seconds });
  }

  async close(): Promise<void> {
    await this.#ask('DELETE', '');
  }

  #ask(method: string, room: string, body?: Json): Promise<any> {
    return control(method, `/benches/${encodeURIComponent(this.name)}${room}`, body);
  }
}

async function control(method: string, path: string, body?: Json): Promise<any> {
  const response = await fetch(`${SERVER}/_mock${path}`, {
    method,
    headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  const said = text ? JSON.parse(text) : null;
  if (!response.ok) {
    throw new Error(`${method} ${path}: ${said?.error?.message ?? response.status}`);
  }
  return said;
}
