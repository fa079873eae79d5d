/**
 * The whole release, to a registry on this machine; then the install line and the first program of each README, in
 * fresh folders, and the examples of `fetch`.
 *
 *     pnpm release:dry          all of them
 *     pnpm release:dry Hono     those whose titles contain a word
 *
 * Versions and changelogs come from the pending changesets, in a copy of the repository. Fails if the registry's data
 * about a package is wrong, or if npm or a program reports a problem; prints a note if the first answer takes longer
 * than a minute.
 */
import { cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { bun, deno } from '@fairlead-testing/runtimes'
import { EXAMPLES } from './examples.js'
import {
  followReadme,
  type PageProgram,
  type Runtime,
  runExample,
  runNextApp,
  runPageProgram,
  runWorker,
  type Variant,
} from './fresh-folder.js'
import { Registry } from './registry.js'
import { freshFolder, packAll, ROOT, removeFolders, run, type Tarball } from './tarballs.js'

const nest = (version: number): Variant => ({
  title: `Nest ${version}`,
  before: [
    ...['common', 'core', 'platform-express'].map((name) => `@nestjs/${name}@${version}`),
    'reflect-metadata',
    'rxjs',
  ],
})

/** The result of `make`, if the runtime is installed for this platform. */
function on<Made>(runtime: string | undefined, make: (runtime: string) => Made): Made[] {
  return runtime === undefined ? [] : [make(runtime)]
}

const DENO = ['--allow-all', '--node-modules-dir=manual', '--quiet']
/** Without it Deno prints a warning if `request.signal` is used, as the page about handlers says. */
const QUIET_ABORTS = '--unstable-no-legacy-abort'

/** Programs without an adapter. */
const HANDLERS: readonly PageProgram[] = [
  { title: 'node:http', at: 0 },
  ...on(bun, (bun): PageProgram => ({ title: 'fetch on Bun', at: 1, runtime: () => [bun] })),
  ...on(deno, (deno): PageProgram => {
    const runtime = (port: number): Runtime => [deno, 'serve', ...DENO, QUIET_ABORTS, '--port', String(port)]
    return { title: 'fetch on Deno', at: 1, runtime }
  }),
]

/** Variants of packages whose dependency exists in several versions or runtimes. */
const VARIANTS: Readonly<Record<string, readonly Variant[]>> = {
  express: [{ title: 'Express 5' }, { title: 'Express 4', instead: ['express', 'express@4'] }],
  fastify: [{ title: 'Fastify 5' }, { title: 'Fastify 4', instead: ['fastify', 'fastify@4'] }],
  hono: [
    { title: 'Hono on Node' },
    ...on(bun, (bun): Variant => ({ title: 'Hono on Bun', runtime: [bun] })),
    ...on(deno, (deno): Variant => ({ title: 'Hono on Deno', runtime: [deno, 'run', ...DENO] })),
  ],
  koa: [{ title: 'Koa 3' }, { title: 'Koa 2', instead: ['koa', 'koa@2'] }],
  nest: [nest(12), nest(11), nest(10)],
}
const KNOWN = ['description', 'keywords', 'homepage', 'bugs', 'repository', 'license', 'author', 'engines']
const ENOUGH_MS = 60_000
const AT_ONCE = 3 // installs mostly wait, for the registry and the disk

/** A copy of the repository, as built, with the versions of the next release. */
async function nextRelease(): Promise<string> {
  const copy = freshFolder('release')
  const files = (await run(ROOT, 'git', 'ls-files', '-z')).split('\0')
  const manifests = files.filter((file) => /^packages\/[^/]+\/package\.json$/.test(file))
  const built = manifests.map((file) => file.replace('package.json', 'dist'))
  for (const file of [...files, ...built]) {
    if (file !== '' && existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(copy, file), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'), 'junction')
  await run(copy, 'git', 'init', '--quiet')
  await run(copy, 'git', 'add', '--all')
  await run(copy, 'git', '-c', 'user.name=me', '-c', 'user.email=me@here.invalid', 'commit', '--quiet', '-m', 'now')
  await run(copy, process.execPath, join(ROOT, 'node_modules/@changesets/cli/bin.js'), 'version')
  return copy
}

/** Publishes a package, and checks the registry's data about it. */
async function publish(registry: Registry, { manifest, file, contents }: Tarball): Promise<void> {
  const changelog = join(contents, 'CHANGELOG.md')
  const version = String(manifest['version'])
  if (!existsSync(changelog) || !readFileSync(changelog, 'utf8').includes(`\n## ${version}\n`))
    throw new Error(`${manifest.name} has no changelog for ${version}`)
  await registry.publish(file)
  const known = await registry.latest(manifest.name)
  const missing = KNOWN.filter((field) => known[field] === undefined)
  if (missing.length > 0) throw new Error(`the registry does not know of ${manifest.name}: ${missing.join(', ')}`)
}

/** Runs `work` for each item, some concurrently. */
async function each<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values()
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (const item of left) await work(item)
  })
  await Promise.all(workers)
}

const registry = await Registry.start()
try {
  const tarballs = await packAll(await nextRelease())
  await each(tarballs, (tarball) => publish(registry, tarball))
  console.log(`published ${tarballs.length} packages, version ${String(tarballs[0]?.manifest['version'])}`)
  const programs: { readonly title: string; readonly measure: () => Promise<number> }[] = tarballs.flatMap((tarball) =>
    (VARIANTS[tarball.folder] ?? [{ title: tarball.manifest.name }]).map((variant) => {
      return { title: variant.title, measure: () => followReadme(registry, tarball, variant) }
    }),
  )
  for (const example of EXAMPLES) programs.push({ title: example.title, measure: () => runExample(registry, example) })
  for (const program of HANDLERS) {
    programs.push({ title: program.title, measure: () => runPageProgram(registry, program) })
  }
  programs.push({ title: 'Next', measure: () => runNextApp(registry) })
  programs.push({ title: 'Wrangler', measure: () => runWorker(registry) })
  const [, , word = ''] = process.argv
  const chosen = programs.filter(({ title }) => title.includes(word))
  if (chosen.length === 0) throw new Error(`no program has a title with ${word}`)
  await each(chosen, async ({ title, measure }) => {
    try {
      const tookMs = await measure()
      const remark = tookMs > ENOUGH_MS ? ': too long, unless the machine was busy' : ''
      console.log(`${title}: ${(tookMs / 1_000).toFixed(1)} s from npm install to the first answer${remark}`)
    } catch (error) {
      console.error(`${title}: FAILED`, error)
      process.exitCode = 1
    }
  })
} finally {
  await registry.stop()
  removeFolders()
}
