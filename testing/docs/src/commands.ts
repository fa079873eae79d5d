import { readdirSync } from 'node:fs'
import { ROOT, textOf } from './repository.js'

interface Manifest {
  readonly name?: string
  readonly scripts?: Readonly<Record<string, string>>
}

const manifests: readonly Manifest[] = ['packages', 'examples', 'testing']
  .flatMap((folder) => readdirSync(ROOT + folder).map((name) => `${folder}/${name}`))
  .concat('lab')
  .map((folder) => JSON.parse(textOf(`${folder}/package.json`)) as Manifest)
const root = JSON.parse(textOf('package.json')) as Manifest

/** A command for readers: `pnpm --filter <one> <script>`, `pnpm <script>`; variables may precede it. */
const PNPM = /^(?:[A-Z_]+=\S+ )*(?:npx )?pnpm(?:@[\d.]+)?(?: --filter (?<filter>\S+))? (?<script>[\w:-]+)/

/** The commands of a shell block: continued lines joined, without comments and prompts. */
export function commandsOf(shell: string): string[] {
  return shell
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
}

/** The error in a pnpm command: no such package, or no such script. */
export function problemOf(command: string): string | undefined {
  const { filter, script = '' } = PNPM.exec(command)?.groups ?? {}
  if (script === '' || ['exec', 'install'].includes(script)) return undefined
  const manifest = filter === undefined ? root : manifests.find(({ name }) => name === filter)
  if (manifest === undefined) return `${command}: there is no package ${filter}`
  return manifest.scripts?.[script] === undefined ? `${command}: there is no script ${script}` : undefined
}
