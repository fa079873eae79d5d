import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { validateWorkflow } from '@action-validator/core'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from './tarballs.js'

interface Workflow {
  readonly permissions?: unknown
  readonly jobs: Readonly<Record<string, Job>>
}
interface Job {
  readonly permissions?: Readonly<Record<string, string>>
  readonly 'timeout-minutes'?: number
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[]
}

const FOLDER = join(ROOT, '.github/workflows')
const workflows = readdirSync(FOLDER).map((file) => {
  const text = readFileSync(join(FOLDER, file), 'utf8')
  return { file, text, ...(parse(text) as Workflow) }
})
const root = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly packageManager: string
  readonly scripts: Readonly<Record<string, string>>
}

describe.each(workflows)('$file', ({ text, permissions, jobs }) => {
  const commands = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []))

  it('is a workflow', () => {
    expect(validateWorkflow(text).errors).toEqual([])
  })

  it('may do little unless a job says so, and ends', () => {
    expect([{}, { contents: 'read' }]).toContainEqual(permissions)
    for (const job of Object.values(jobs)) expect(job['timeout-minutes']).toBeLessThanOrEqual(60)
  })

  it('runs the package manager that the repository names, and scripts that are there', () => {
    const managers = commands.flatMap((command) => command.match(/\bpnpm@[\d.]+/g) ?? [])
    expect(managers.filter((manager) => manager !== root.packageManager)).toEqual([])
    const scripts = commands.flatMap((command) => /^pnpm ([\w:]+)$/.exec(command)?.[1] ?? [])
    expect(scripts.filter((script) => root.scripts[script] === undefined)).toEqual([])
  })
})

it('a mistake in a workflow would be found', () => {
  const wrong = 'on: push\njobs:\n  test:\n    runs-on: ubuntu-24.04\n    steps:\n      - use: actions/checkout@v6\n'
  expect(validateWorkflow(wrong).errors).not.toEqual([])
})

it('the release proves to the registry what it is by its workflow, and keeps no token', () => {
  const { text, jobs } = workflows.find(({ file }) => file === 'release.yml')!
  expect(jobs['release']?.permissions).toMatchObject({ 'id-token': 'write' })
  expect(text).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN/)
  expect(text).toContain('NPM_CONFIG_PROVENANCE: true')
})
