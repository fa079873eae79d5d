#!/usr/bin/env node
import { readFile } from 'node:fs/promises'
import { CLIENT_FLAGS, client } from './client.js'
import { helpOf, UsageError } from './flags.js'
import { check, SERVE_FLAGS, serve } from './serve.js'
import { SHELL_FLAGS, shell } from './shell.js'

const HELP = `doorman --check FILE  says whether a configuration is right, and ends
doorman --version

doorman serve    shares limits among a fleet
${helpOf(SERVE_FLAGS)}
  Each flag is also a variable: --debug-port is DOORMAN_DEBUG_PORT.

doorman shell    plays many clients, by commands
${helpOf(SHELL_FLAGS)}

doorman client   loads one resource
${helpOf(CLIENT_FLAGS)}
`

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

async function run([command, ...args]: readonly string[]): Promise<void> {
  if (command === '--check') await check(args, print)
  else if (command === '--version') print(await version())
  else if (args.includes('--help') || command === undefined || command === 'help' || command === '--help') print(HELP)
  else if (command === 'serve') await serve(args)
  else if (command === 'shell') await shell(args, process.stdin, print)
  else if (command === 'client') await client(args, print)
  else throw new UsageError(`there is no command ${JSON.stringify(command)}: serve, shell or client`)
}

async function version(): Promise<string> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

try {
  await run(process.argv.slice(2))
  // Connections that are idle do not keep it alive, but what is closing may.
  process.exitCode = 0
} catch (error) {
  process.stderr.write(`doorman: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
}
