import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { withRedisUrl } from '@fairlead-testing/servers'
import { describe, expect, it } from 'vitest'

const FLEET = new URL('../dist/fleet.js', import.meta.url)

describe('four processes with a Redis', () => {
  it('share one clock', async () => {
    const redis = await withRedisUrl()
    try {
      const env = { ...process.env, PER_SECOND: '20', REDIS_URL: redis.url }
      const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(FLEET), '20'], { env })
      expect(stdout).toMatch(/10 s:.*members: 4/s)
    } finally {
      await redis.stop()
    }
  })
})
