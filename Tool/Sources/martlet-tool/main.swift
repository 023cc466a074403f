import MartletCommandLine
import MartletToolImages

CommandLineTool.run(Array(CommandLine.arguments.dropFirst()), drawing: TerminalImages.drawing)
