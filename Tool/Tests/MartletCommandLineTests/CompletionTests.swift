@testable import MartletCommandLine
import MartletSemantics
import MartletTesting
import Testing

/// The completions in the shells that read them. Lines are typed with a tab at their end.
@Suite("Completions in their shells", .timeLimit(.minutes(5)))
struct CompletionTests {
  /// The typed text, and the arguments to which it is completed.
  private static let lines: [(typed: String, arguments: [String])] = [
    ("martlet pat", ["patch"]), ("martlet get :80/ --check-", ["get", ":80/", "--check-status"]),
    ("martlet get --check-", ["get", "--check-status"]),
    // the method may be left out
    ("martlet :80/ --check-", [":80/", "--check-status"]), ("martlet --check-", ["--check-status"]),
    ("martlet get :80/ --color alw", ["get", ":80/", "--color", "always"]),
    ("martlet get :80/ --color=alw", ["get", ":80/", "--color=always"]),
    ("martlet get :80/ --har not", ["get", ":80/", "--har", "note.txt"]),
    ("martlet get :80/ --har=not", ["get", ":80/", "--har=note.txt"]),
    ("martlet get :80/ -o not", ["get", ":80/", "-o", "note.txt"]),
    ("martlet get :80/ --cache fol", ["get", ":80/", "--cache", "folder"]),
    ("martlet post :80/ picture@pho", ["post", ":80/", "picture@photo.jpg"]),
    ("martlet post :80/ a:=@a", ["post", ":80/", "a:=@a b.json"]),
    ("martlet post :80/ @fol", ["post", ":80/", "@folder"]),
    ("martlet serve fol", ["serve", "folder"]), ("martlet serve . --trun", ["serve", ".", "--truncate"]),
    ("martlet record --orig", ["record", "--origin"]), ("martlet completions fi", ["completions", "fish"]),
    ("martlet help ser", ["help", "serve"]),
  ]

  static func has(_ shell: String) -> Bool {
    ["/bin/", "/usr/bin/", "/usr/local/bin/"].contains {
      FileManager.default.isExecutableFile(atPath: $0 + shell)
    }
  }

  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    for name in ["photo.jpg", "note.txt", "a b.json", "folder/file"] { try folder.write(Data(), to: "files/\(name)") }
  }

  private func script(for shell: String) throws -> String {
    try folder.write(Data(try Completions.script(for: shell).utf8), to: "martlet.\(shell)").path
  }

  @Test func bashCompletesWhatIsTyped() throws {
    let setup = "source '\(try script(for: "bash"))'"
    try check(typed(into: ["bash", "--noprofile", "--norc", "-i"], setup: setup))
  }

  @Test(.enabled(if: has("zsh"), "zsh is not installed")) func zshCompletesWhatIsTyped() throws {
    let setup = "autoload -U compinit; compinit -D -u; source '\(try script(for: "zsh"))'"
    try check(typed(into: ["zsh", "-f", "-i"], setup: setup))
  }

  @Test(.enabled(if: has("fish"), "fish is not installed")) func fishCompletesWhatIsTyped() throws {
    let script = try script(for: "fish")
    for line in Self.lines {
      let fish = try ChildProcess(
        "fish", ["--no-config", "-c", "source '\(script)'; complete -C '\(line.typed)'"],
        in: folder.file("files"), output: .readWithErrors)
      let shown = String(decoding: fish.readToEnd(), as: UTF8.self).split(separator: "\n")
      let words = shown.map { $0.prefix { $0 != "\t" } }.map { $0.last == "/" ? $0.dropLast() : $0 }
      #expect(words.map(String.init) == [line.arguments.last ?? ""], "\(line.typed)")
    }
  }

  private func check(_ seen: [String]) throws {
    try #require(seen.count == Self.lines.count, "\(seen)")
    for (line, arguments) in zip(Self.lines, seen) {
      let words = arguments.split(separator: "\t").map { $0.last == "/" && $0.first != ":" ? $0.dropLast() : $0 }
      #expect(words.map(String.init) == line.arguments, "\(line.typed)")
    }
  }

  /// Types the lines into an interactive shell on a pseudo-terminal, in which `martlet` is a function that records its
  /// arguments. Returns the recorded lines.
  private func typed(into shell: [String], setup: String) throws -> [String] {
    let out = folder.file("out")
    let function = "martlet() { local IFS=$'\\t'; printf '%s\\n' \"$*\" >>'\(out.path)'; }"
    let lines = [setup, function] + Self.lines.map { $0.typed + "\t" } + ["exit"]
    let python = try ChildProcess(
      "python3", ["-c", Self.terminal, lines.map { $0 + "\n" }.joined()] + shell, in: folder.file("files"),
      output: .readWithErrors)
    let screen = String(decoding: python.readToEnd(), as: UTF8.self)
    try #require(python.succeeds(), "\(screen)")
    let written = String(decoding: try Data(contentsOf: out), as: UTF8.self)
    return written.split(separator: "\n").map(String.init)
  }

  private static let terminal = """
    import os, pty, sys, threading
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "dumb"
        os.execvp(sys.argv[2], sys.argv[2:])
    threading.Thread(target=lambda: os.write(terminal, sys.argv[1].encode()), daemon=True).start()
    try:
        while screen := os.read(terminal, 65536):
            os.write(1, screen)
    except OSError:
        pass  # the shell has closed its side
    os.waitpid(pid, 0)
    """
}
