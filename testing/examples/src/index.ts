export { adapterExamples } from './adapter-examples.js'
export { Program } from './program.js'
