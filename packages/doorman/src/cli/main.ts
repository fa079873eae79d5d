#!/usr/bin/env node
import { readFile } from 'node:fs/promises'
import { helpOf, UsageError } from './flags.js'

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Each command loads its own dependencies; a server's are much larger than the others'. */
async function run([command, ...args]: readonly string[]): Promise<void> {
  // The server's modules take a while to load, and the configuration is read after that.
  if (command === 'serve') process.on('SIGHUP', () => undefined)
  if (command === '--check') await (await import('./serve.js')).check(args, print)
  else if (command === '--version') print(await version())
  else if (args.includes('--help') || command === undefined || command === 'help' || command === '--help')
    print(await help())
  else if (command === 'serve') await (await import('./serve.js')).serve(args)
  else if (command === 'shell') await (await import('./shell.js')).shell(args, process.stdin, print)
  else if (command === 'client') await (await import('./client.js')).client(args, print)
  else throw new UsageError(`there is no command ${JSON.stringify(command)}: serve, shell or client`)
}

async function help(): Promise<string> {
  const [{ SERVE_FLAGS }, { SHELL_FLAGS }, { CLIENT_FLAGS }] = await Promise.all([
    import('./serve.js'),
    import('./shell.js'),
    import('./client.js'),
  ])
  return `doorman --check FILE  says whether a configuration is right, and ends
doorman --version

doorman serve    shares limits among a fleet
${helpOf(SERVE_FLAGS)}
  Each flag is also a variable: --debug-port is DOORMAN_DEBUG_PORT.

doorman shell    plays many clients, by commands
${helpOf(SHELL_FLAGS)}

doorman client   loads one resource
${helpOf(CLIENT_FLAGS)}
`
}

async function version(): Promise<string> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

try {
  await run(process.argv.slice(2))
  // Idle connections do not keep the process alive, but closing ones may.
  process.exitCode = 0
} catch (error) {
  process.stderr.write(`doorman: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
}
