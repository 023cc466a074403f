@_spi(Toolkit) import MartletEngine

/// The description of all commands: the parser, the help, the completions and the manual page read it.
enum Catalogue {
  static let program = "martlet"
  static let version = Release.version
  static let purpose = "makes HTTP requests and shows what happens in them"

  static func description(of command: CommandName) -> CommandDescription {
    switch command {
    case .get, .post, .put, .patch, .delete, .head, .options: call(command)
    case .ws: webSocket
    case .serve: serve
    case .record: record
    case .inspect: inspect
    case .completions: completions
    case .man: man
    case .help: help
    }
  }

  static let all = CommandName.allCases.map { description(of: $0) }

  private static func call(_ command: CommandName) -> CommandDescription {
    CommandDescription(
      name: command, summary: "makes \(command == .options ? "an" : "a") \(command.rawValue.uppercased()) request",
      arguments: "URL [ITEM …]",
      discussion: RequestItem.help, groups: callGroups, examples: examples)
  }

  private static let serve = CommandDescription(
    name: .serve, summary: "serves a folder over HTTP on this machine, with faults on demand", arguments: "FOLDER",
    discussion: """
      Serves the files of a folder on 127.0.0.1, with content types, ranges, entity tags and a list of each folder
      without an index.html. Paths cannot leave the folder, and names that begin with a dot are not served. A request
      whose Host is another name than localhost or 127.0.0.1 is refused.

      A fault applies to the paths that match a pattern, in which * stands for any characters: --delay '/slow/*=2.5'.
      Without a pattern it applies to all. A request can ask for it itself, in its query: /a.json?status=503&delay=1.
      """,
    groups: [
      OptionGroup(
        title: "Where",
        options: [
          OptionDescription(.port, .count, "the port; 8000 by default, 0 for any that is free"),
          hostOption, tlsOption, inspectOption,
        ]),
      OptionGroup(
        title: "Faults",
        options: [
          OptionDescription(.delay, .text("[PATH=]SECONDS"), repeatable: true, "waits before it answers"),
          OptionDescription(.status, .text("[PATH=]STATUS"), repeatable: true, "answers with this status"),
          OptionDescription(
            .truncate, .text("[PATH=]BYTES"), repeatable: true,
            "closes the connection after this many bytes of the body"),
          OptionDescription(
            .stall, .text("[PATH=]BYTES"), repeatable: true, "stops sending after this many bytes of the body"),
          OptionDescription(
            .reset, .text("[PATH=]BYTES"), repeatable: true, "resets the connection after this many bytes of the body"),
        ]),
      everywhere,
    ],
    examples: [
      ("martlet serve public --port 8080", "serve the folder 'public'"),
      ("martlet serve public --tls --host dev.example", "the same over https and HTTP/2, also as dev.example"),
      ("martlet serve . --delay '/api/*=2' --status /api/orders=503", "a slow service whose orders are unavailable"),
    ])

  private static let hostOption = OptionDescription(
    .host, .text("NAME"), repeatable: true, "answers requests for this host too, besides localhost and 127.0.0.1")

  private static let tlsOption = OptionDescription(
    .tls,
    "serves https and HTTP/2, with a certificate of an authority that is made for it; it prints the authority's file")

  private static let record = CommandDescription(
    name: .record, summary: "forwards requests to a server, and records them as an HTTP Archive",
    arguments: "--origin URL --har FILE",
    discussion: """
      Listens on 127.0.0.1, forwards requests to the origin, and writes them and their responses to FILE at most once
      a second and at the end, without secrets: up to 16 MiB of a body, and the last 1000 requests or 64 MiB. Ctrl-C
      ends it: exchanges unfinished after a second are kept as far as they got. --replay FILE answers from it later,
      and so do tests with ReplayTransport. A request whose Host is another name than localhost or 127.0.0.1 is refused.
      """,
    groups: [
      OptionGroup(
        title: "What",
        options: [
          OptionDescription(.origin, .text("URL"), "the server that is recorded"),
          OptionDescription(.har, .file, "the archive to write; replaces one whose creator is Martlet"),
          OptionDescription(.overwrite, "lets --har replace another file"),
          OptionDescription(.port, .count, "the port; 8000 by default, 0 for any that is free"),
          hostOption, tlsOption, inspectOption,
          OptionDescription(
            .proxy, .text("URL"), repeatable: true,
            "the proxy for the way to the origin; 'none' for none; by default the environment's"),
          OptionDescription(.insecure, "accepts the origin's certificate even if it is not trusted"),
          OptionDescription(.ca, .file, "certificates of authorities to trust besides the system's (PEM)"),
        ]),
      everywhere,
    ],
    examples: [
      ("martlet record --origin https://api.example.com --har api.har", "record a service"),
      ("martlet get https://api.example.com/orders --replay api.har", "answer from the recording"),
    ])

  private static let inspectOption = OptionDescription(
    .inspect, "shows the requests in a browser while they happen, at the URL that it prints on standard error")

  private static let inspect = CommandDescription(
    name: .inspect, summary: "shows an HTTP Archive in a browser", arguments: "ARCHIVE",
    discussion: """
      Prints the URL of a page on this machine that shows the calls of an archive: a table to filter and search, the
      phases of each attempt, heads, bodies and messages. Only a browser with the key in the URL gets them. Secrets are
      left out, unless --show-secrets is given. Ctrl-C ends it.
      """,
    groups: [
      OptionGroup(
        title: "How",
        options: [
          OptionDescription(.port, .count, "the port; by default any that is free"),
          OptionDescription(.showSecrets, "shows passwords and tokens"),
        ]),
      everywhere,
    ],
    examples: [("martlet inspect api.har", "show what a browser or 'martlet record' has recorded")])

  private static let completions = CommandDescription(
    name: .completions, summary: "prints completions for a shell", arguments: "bash|zsh|fish",
    discussion: "Prints a script that completes commands and options. 'make install' installs all three.",
    groups: [everywhere], examples: [("source <(martlet completions bash)", "completions in this shell")])

  private static let man = CommandDescription(
    name: .man, summary: "prints the manual page", arguments: "",
    discussion: "Prints the manual page in the format of man(7).", groups: [everywhere],
    examples: [("martlet man | man -l -", "read it")])

  private static let help = CommandDescription(
    name: .help, summary: "shows the help of a command", arguments: "[COMMAND]", discussion: "", groups: [everywhere],
    examples: [])

  static let everywhere = OptionGroup(
    title: "Help",
    options: [
      OptionDescription(.help, short: "h", "shows this help"),
      OptionDescription(.version, "shows the version"),
    ])
}
