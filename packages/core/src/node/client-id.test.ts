import { hostname } from 'node:os'
import { expect, it } from 'vitest'
import { clientId } from './client-id.js'

it('is host, process and number, and never the same twice', () => {
  const ids = [clientId(), clientId()]
  for (const id of ids) expect(id.startsWith(`${hostname()}:${process.pid}:`)).toBe(true)
  expect(new Set(ids).size).toBe(2)
})
