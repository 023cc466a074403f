import MartletCommandLine

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

// A reader that closes the output is an error of the write, and not a signal, so that connections and files are closed.
signal(SIGPIPE, SIG_IGN)
let arguments = Array(CommandLine.arguments.dropFirst())
if let code = CommandLineTool.runNow(arguments) { exit(code) }
exit(await CommandLineTool.run(arguments))
