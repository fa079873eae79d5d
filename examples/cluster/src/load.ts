import { Agent, get } from 'node:http'

/** What became of a client's requests. */
export interface Client {
  readonly name: string
  readonly perSecond: number
  asked: number
  served: number
  refused: number
  failed: number
}

/** Eighteen quiet clients, and two that ask for half of all there is each. */
export function population(): Client[] {
  return Array.from({ length: 20 }, (_, i) => {
    const perSecond = i < 18 ? 3.3 : 50
    return { name: `client-${i}`, perSecond, asked: 0, served: 0, refused: 0, failed: 0 }
  })
}

/** Sends each client's requests, Poisson and whatever the answers are, for so long; each goes to the next worker. */
export async function send(url: string, clients: readonly Client[], seconds: number): Promise<void> {
  const agent = new Agent({ keepAlive: false })
  const end = performance.now() + 1000 * seconds
  const ask = (client: Client): Promise<void> =>
    new Promise((done) => {
      client.asked++
      const request = get(url, { agent, headers: { 'x-api-key': client.name } }, (answer) => {
        answer.resume()
        if (answer.statusCode === 200) client.served++
        else if (answer.statusCode === 429) client.refused++
        else client.failed++
        done()
      })
      request.on('error', () => done())
    })
  const pause = (client: Client): number => (-Math.log(1 - Math.random()) * 1000) / client.perSecond
  const play = async (client: Client): Promise<void> => {
    const asked: Promise<void>[] = []
    for (let at = performance.now() + pause(client); at < end; at += pause(client)) {
      await new Promise((due) => setTimeout(due, Math.max(0, at - performance.now())))
      asked.push(ask(client))
    }
    await Promise.all(asked)
  }
  await Promise.all(clients.map(play))
}
