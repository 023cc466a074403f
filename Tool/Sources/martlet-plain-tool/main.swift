import MartletCommandLine

CommandLineTool.run(Array(CommandLine.arguments.dropFirst()))
