import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { flagsFrom } from './cli/flags.js'
import { SERVE_FLAGS } from './cli/serve.js'
import { repositoryFrom } from './config/repository.js'
import { DoormanServer } from './server/index.js'

const read = (name: string): string => readFileSync(new URL(`../deploy/${name}`, import.meta.url), 'utf8')

interface Document {
  kind: string
  data?: Record<string, string>
  spec?: { template?: { spec: { containers: { args: string[]; readinessProbe: { httpGet: { path: string } } }[] } } }
}

const manifests = parseAllDocuments(read('kubernetes.yaml')).map((document) => document.toJS() as Document)
const container = manifests.find(({ kind }) => kind === 'StatefulSet')!.spec!.template!.spec.containers[0]!

describe('what is shipped to run it', () => {
  it.each([
    ['Dockerfile', (): string[] => parse(/^CMD (\[.*\])$/m.exec(read('Dockerfile'))![1]!) as string[]],
    ['doorman.service', (): string[] => /^ExecStart=.* doorman (.*)$/m.exec(read('doorman.service'))![1]!.split(' ')],
    ['kubernetes.yaml', (): string[] => container.args],
  ])('%s gives flags that there are, and opens the ports', (_, args) => {
    const [command, ...flags] = args()
    expect(command).toBe('serve')
    const given = flagsFrom(SERVE_FLAGS, flags)
    expect(given).toMatchObject({ config: '/etc/doorman/doorman.yaml', host: '0.0.0.0', 'debug-port': '5669' })
  })

  it('has a configuration that a server takes, and asks whether it is ready', () => {
    const text = manifests.find(({ kind }) => kind === 'ConfigMap')!.data!['doorman.yaml']!
    new DoormanServer({ id: 'n', repository: repositoryFrom(text) }).close()
    expect(container.readinessProbe.httpGet.path).toBe('/readyz')
  })
})
