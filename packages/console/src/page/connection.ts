import { useEffect, useState } from 'preact/hooks'
import type { Frame, RecordFrame } from '../frame.js'

/** The page's side of a console: one URL, wherever it is mounted, without a password that it may contain. */
const url = (query: string): string => `${location.origin}${location.pathname}?${query}`

/** A flow in a URL. Names may contain unpaired surrogates, which a URL cannot carry and JSON escapes. */
const inUrl = (flow: string): string => JSON.stringify(flow)

export interface PageConnection {
  /** True if the console has `control`. */
  readonly canAct: boolean
  /** Explains why a flow's next request would be refused or admitted. */
  explain(flow: string): Promise<Readonly<Record<string, unknown>>>
  /** Applies an action to a flow; returns the message to show. */
  act(kind: string, flow: string, parameters: Readonly<Record<string, string>>): Promise<string>
  /** URL of the what-if's worker. */
  readonly workerUrl: string
}

export function connect(): PageConnection {
  const token = document.querySelector<HTMLMetaElement>('meta[name=fairlead-token]')?.content
  return {
    canAct: token !== undefined,
    workerUrl: url('worker'),
    async explain(flow) {
      const answer = await fetch(url(`why=${encodeURIComponent(inUrl(flow))}`))
      return answer.ok ? ((await answer.json()) as Record<string, unknown>) : {}
    },
    async act(kind, flow, parameters) {
      const query = new URLSearchParams({ act: kind, flow: inUrl(flow), ...parameters })
      const headers = { 'x-fairlead-token': token ?? '' }
      try {
        const answer = await fetch(url(query.toString()), { method: 'POST', headers })
        return await answer.text()
      } catch {
        return 'The server does not answer.'
      }
    },
  }
}

/** Calls `onFrame` once a second, until the returned function is called. */
export function listen(onFrame: (frame: Frame) => void, onState: (live: boolean) => void): () => void {
  return events('events', 'message', (data) => onFrame(JSON.parse(data) as Frame), onState)
}

/** The same for the requests that ended in each second. */
export function listenToRecords(onRecord: (record: RecordFrame) => void): () => void {
  return events('events&record', 'record', (data) => onRecord(JSON.parse(data) as RecordFrame))
}

/** Browsers stop reconnecting for good after an error response, such as a proxy's while a server restarts. */
const AGAIN_MS = 5_000

function events(
  query: string,
  type: string,
  on: (data: string) => void,
  onState?: (live: boolean) => void,
): () => void {
  let source: EventSource
  let timer: ReturnType<typeof setTimeout> | undefined
  const open = (): void => {
    source = new EventSource(url(query))
    source.addEventListener(type, (event: MessageEvent<string>) => on(event.data))
    source.onopen = () => onState?.(true)
    source.onerror = () => {
      onState?.(false)
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, AGAIN_MS)
    }
  }
  open()
  return () => {
    clearTimeout(timer)
    source.close()
  }
}

const EXPLAIN_EVERY_MS = 1_000

/** The stages' state of a flow, updated each second while it is shown. */
export function useExplanation(
  connection: PageConnection,
  flow: string,
): Readonly<Record<string, unknown>> | undefined {
  const [explanation, setExplanation] = useState<Readonly<Record<string, unknown>> | undefined>()
  useEffect(() => {
    let shown = true
    const ask = (): void => {
      connection.explain(flow).then(
        (answer) => {
          if (shown) setExplanation(answer)
        },
        () => {},
      )
    }
    ask()
    const timer = setInterval(ask, EXPLAIN_EVERY_MS)
    return () => {
      shown = false
      clearInterval(timer)
    }
  }, [connection, flow])
  return explanation
}
