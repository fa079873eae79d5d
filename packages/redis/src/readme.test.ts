import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedis } from '@fairlead-testing/servers'
import { describe, expect, it } from 'vitest'

const folder = fileURLToPath(new URL('..', import.meta.url))

describe('the program in the README', () => {
  it('runs, in several processes at once, which share by weight', async () => {
    const [, inReadme] = /```ts\n(.*?)```/s.exec(readFileSync(`${folder}/README.md`, 'utf8'))!
    // A fifth of the amounts: also on a busy machine each process can ask for more than its share.
    const program = inReadme!.replace('limit: 1_000', 'limit: 200').replace('quantum: 10', 'quantum: 2')
    expect(program).toContain('limit: 200')
    expect(program).toContain('quantum: 2,')
    const redis = await startRedis()
    try {
      const env = { ...process.env, REDIS_URL: redis.url }
      const run = () =>
        promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { cwd: folder, env })
      const outputs = await Promise.all([run(), run()])
      const numbers = outputs.map(({ stdout }) =>
        /'enterprise' => (\d+), 'free' => (\d+)/.exec(stdout)!.slice(1).map(Number),
      )
      const [enterprise, free] = [0, 1].map((at) => numbers.reduce((sum, one) => sum + one[at]!, 0))
      // About six windows of 200; the first has already begun, and its shares follow the weights only roughly.
      expect(enterprise!).toBeGreaterThan(2 * free!)
      expect(enterprise! + free!).toBeGreaterThan(400)
    } finally {
      await redis.stop()
    }
  })
})
