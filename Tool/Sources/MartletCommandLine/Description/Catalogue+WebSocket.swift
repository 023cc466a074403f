// The command that opens a WebSocket.
extension Catalogue {
  static let webSocket = CommandDescription(
    name: .ws, summary: "opens a WebSocket, and sends and shows messages", arguments: "URL [ITEM …] [@FILE …]",
    discussion: """
      Sends each line of standard input as a message, and shows each message that arrives on a line. Files
      (@FILE) are sent first, each as one message: a binary one if it is not text. A line or a file has 64 MiB
      at most. Binary messages that arrive are written unchanged, without a line break; a terminal shows their
      size.

      The end of the input of a terminal (Ctrl-D) closes the WebSocket. After the end of a file or a pipe the
      messages of the server are shown until it closes the WebSocket, or until there are --count of them.

      Items NAME:VALUE and NAME==VALUE are fields and parameters of the handshake, as for 'martlet get'. The
      scheme ws or wss may be left out.

      Exit codes: 0 if the WebSocket was closed in order (1000, 1001, or without a code); 4 for the code 1008, 5
      for 1011 to 1013, 9 for 1002, 1003, 1007, 1009 and 1010, 7 if the connection was lost, and 1 for all other
      codes.
      """,
    groups: [
      OptionGroup(
        title: "Messages",
        options: [
          OptionDescription(.json, short: "j", "shows each message as a line of JSON; bytes are in base64"),
          OptionDescription(.binary, "sends lines and files as binary messages"),
          OptionDescription(
            .subprotocol, .text("NAME"), repeatable: true, "offers a subprotocol to the server; the first is preferred"),
          OptionDescription(.count, .count, "closes the WebSocket after this many messages have arrived"),
          OptionDescription(
            .ping, .seconds, "how long the connection may be silent before a ping tests it; 30 by default"),
          OptionDescription(.ignoreStandardInput, short: "I", "does not read standard input"),
        ]),
      OptionGroup(
        title: "What is shown",
        options: [
          OptionDescription(.verbose, short: "v", "tells on standard error what happens until the WebSocket is open"),
          OptionDescription(.events, "writes each event as a line of JSON on standard error"),
          OptionDescription(.quiet, short: "q", "shows nothing but errors"),
          OptionDescription(.color, .oneOf(["auto", "always", "never"]), "colors in --verbose; auto by default"),
          OptionDescription(.showSecrets, "shows passwords, tokens and cookies in --verbose and --events"),
        ]),
      OptionGroup(
        title: kept.title, options: kept.options.filter { [.session, .sessionReadOnly, .cookies].contains($0.name) }),
      credentials,
      OptionGroup(
        title: "Behavior",
        options: [
          OptionDescription(.noRedirects, "does not follow redirects"),
          OptionDescription(.maxRedirects, .count, "follows at most this many redirects; 20 by default"),
          OptionDescription(.timeout, .seconds, "the limit for connecting, and for the wait for the response"),
          OptionDescription(.deadline, .seconds, "the limit for opening the WebSocket; none by default"),
          OptionDescription(.correlation, "adds X-CorrelationID and traceparent, to find the call in logs of servers"),
        ]),
      connection, everywhere,
    ],
    examples: [
      ("martlet ws example.com/chat", "a chat on the terminal"),
      ("echo ping | martlet ws example.com/feed --count 3", "asks, and shows three answers"),
      ("martlet ws :8080/feed --subprotocol v2.feed --auth ada", "a subprotocol and a password"),
    ])
}
