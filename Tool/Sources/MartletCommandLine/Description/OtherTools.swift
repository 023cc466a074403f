/// The options of HTTPie and curl that this program has under another name, or does not need.
enum OtherTools {
  /// Returns what to write in place of another program's option; nil for an unknown option.
  static func remedy(for option: String) -> String? { remedies.first { $0.options.contains(option) }?.remedy }

  private static let remedies: [(options: [String], remedy: String)] = [
    (["--location", "-L"], "redirects are followed, and --no-redirects shows the first response"),
    (["--max-redirs"], "--max-redirects NUMBER limits redirects"),
    (["-k"], "--insecure accepts any certificate, and --ca FILE trusts an authority"),
    (["--cacert"], "--ca FILE trusts an authority"),
    (["--cert-key"], "--key FILE has the private key"),
    (["--cert-key-pass", "--pass"], "--cert-password PASSWORD opens the private key"),
    (["--pinnedpubkey"], "--pin SHA256 names the public key that the server must have"),
    (["--request", "-X"], "write the method first, as in martlet put example.com/orders"),
    (["--header", "-H"], "write fields after the URL, as in X-Trace:1"),
    (["--data", "--data-raw", "--data-binary"], "write name=value after the URL, or --raw TEXT"),
    (["--data-urlencode"], "write --form and name=value after the URL"),
    (["--user", "-u"], "--auth USER:PASSWORD has credentials"),
    (["--user-agent"], "write User-Agent:name after the URL"),
    (["--compressed"], "compressed responses are asked for and decoded"),
    (["--include", "-i"], "--print hb shows head and body"),
    (["--debug", "--trace", "--traceback"], "--verbose shows every request, response and time"),
    (["--no-buffer", "-N"], "bodies are shown as they arrive"),
    (["--format-options"], "--pretty, --sorted and --style say how a body is shown"),
    (
      ["--response-mime", "--response-charset"],
      "a body is read as its Content-Type says; --output FILE keeps it as it is"
    ),
    (["--continue-at", "-C"], "--download continues what was interrupted"),
    (["--remote-header-name", "-J"], "--download takes the file's name from the server"),
    (["--ciphers"], "the system's OpenSSL has them, and --ssl sets the lowest version of TLS"),
    (["--max-headers"], "256 KiB of fields are read at most"),
    (["--history-print"], "--print with --all shows the heads of redirects too"),
    (["--https"], "write https://, or --default-scheme https"),
    (["--cookie", "--cookie-jar"], "--cookies FILE reads and writes cookies, and Cookie:a=1 sends one"),
    (["--max-time"], "--deadline SECONDS limits everything together"),
    (["--connect-timeout"], "--timeout SECONDS limits connecting and waiting"),
    (["--silent"], "--quiet shows nothing but errors"),
    (["--fail"], "--check-status ends with 3, 4 or 5"),
    (["--socks5", "--preproxy"], "--proxy socks5://host:port"),
  ]
}
