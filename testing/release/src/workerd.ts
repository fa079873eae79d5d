import { startWorkerd } from '@fairlead-testing/servers/workerd'

/** The response of a worker with this script at its root. */
export async function answerOnWorkerd(script: string): Promise<string> {
  const worker = await startWorkerd(script)
  try {
    const response = await worker.dispatchFetch('http://localhost/')
    return await response.text()
  } finally {
    await worker.dispose()
  }
}
