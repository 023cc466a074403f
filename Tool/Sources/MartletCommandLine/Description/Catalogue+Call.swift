// The options of the commands that make a request, and examples of them.
extension Catalogue {
  static let callGroups: [OptionGroup] = [
    bodyOptions, outputOptions, fileOptions, kept, credentials, behavior, connection, everywhere,
  ]

  private static let bodyOptions = OptionGroup(
    title: "The request's body",
    options: [
      OptionDescription(.json, short: "j", "sends text and JSON items as JSON, the default, and asks for JSON"),
      OptionDescription(.form, short: "f", "sends them as a form; as multipart/form-data if one is a file"),
      OptionDescription(.multipart, "sends them as multipart/form-data"),
      OptionDescription(.raw, .text("TEXT"), "sends this text; as JSON if it is JSON, or else as plain text"),
      OptionDescription(.ignoreStandardInput, short: "I", "does not read the body from standard input"),
    ])

  private static let outputOptions = OptionGroup(
    title: "What is shown",
    options: [
      OptionDescription(
        .verbose, short: "v", "tells on standard error what happens: requests, redirects, cookies, cache, times"),
      OptionDescription(.events, "writes each event as a line of JSON on standard error"),
      OptionDescription(.headers, "shows only the head of the response"),
      OptionDescription(.body, short: "b", "shows only the body; the default if the output is no terminal"),
      OptionDescription(
        .print, short: "p", .text("PARTS"), "shows these parts: H and B of the request, h and b of the response"),
      OptionDescription(.quiet, short: "q", "shows nothing but errors"),
      OptionDescription(
        .pretty, .oneOf(["all", "format", "colors", "none"]),
        "indents and colors JSON and XML; by default all on a terminal, and none elsewhere"),
      OptionDescription(
        .color, .oneOf(["auto", "always", "never"]), "colors in what is shown; auto, the default, on a terminal"),
      OptionDescription(.image, "draws the body, a JPEG, PNG, WebP or GIF, in the terminal's colors"),
      OptionDescription(
        .showSecrets,
        "shows passwords, tokens and cookies in --verbose, --events, --curl, --har and --timeline, which hide them otherwise"
      ),
      OptionDescription(.curl, "prints the curl command for the request, and sends nothing"),
    ])

  private static let fileOptions = OptionGroup(
    title: "Files",
    options: [
      OptionDescription(
        .output, short: "o", .file, "writes the body to a file, which appears when it is complete; - is standard output"
      ),
      OptionDescription(
        .download, short: "d", "downloads to a file that the server or the URL names, and resumes an earlier try"),
      OptionDescription(
        .overwrite,
        "lets --output and --download replace a file that exists, and other options one that is not theirs"
      ),
      OptionDescription(
        .har, .file,
        "records the call as an HTTP Archive, with up to 16 MiB of each body; replaces one whose creator is Martlet"),
      OptionDescription(.replay, .file, "answers from an HTTP Archive, without the network"),
      OptionDescription(
        .timeline, .file,
        "writes a page for a browser that shows requests and their phases over time; replaces a page that martlet wrote"
      ),
    ])

  static let kept = OptionGroup(
    title: "What is kept for the next time",
    options: [
      OptionDescription(
        .session, .text("NAME"), "keeps cookies, fields of the head and credentials for the URL's host under a name"),
      OptionDescription(
        .cookies, .file,
        "reads and writes cookies in the format of curl and wget; does not replace a file that has other lines"
      ),
      OptionDescription(.cache, .folder, "keeps responses in a folder, as HTTP allows it"),
      OptionDescription(.offline, "answers from --cache only, without the network"),
    ])

  static let credentials = OptionGroup(
    title: "Credentials",
    options: [
      OptionDescription(
        .auth, short: "a", .text("USER:PASSWORD"), "credentials for the URL's host; a password left out is asked for"),
      OptionDescription(
        .authType, short: "A", .oneOf(["basic", "digest", "bearer"]),
        "what they are, basic by default; with bearer, --auth is the token"),
      OptionDescription(.netrc, "takes user and password from $NETRC, otherwise ~/.netrc"),
      OptionDescription(.netrcFile, .file, "takes user and password from this file"),
      OptionDescription(
        .csrf, .text("ROOT"), "fetches a CSRF token there for requests that change something, and renews it"),
    ])

  private static let behavior = OptionGroup(
    title: "Behavior",
    options: [
      OptionDescription(.checkStatus, "ends with 3, 4 or 5 for a status 3xx, 4xx or 5xx"),
      OptionDescription(.noRedirects, "does not follow redirects"),
      OptionDescription(.pathAsIs, "sends the segments . and .. of the URL's path, which are resolved otherwise"),
      OptionDescription(
        .timeout, .seconds,
        "the limit for connecting, 30 by default, and for the wait for the response and each pause in it, 60 by default"
      ),
      OptionDescription(
        .deadline, .seconds, "the limit for everything together, with redirects and retries; none by default"),
      OptionDescription(.retry, .count, "sends again after failures that may pass, at most this many times"),
      OptionDescription(.correlation, "adds X-CorrelationID and traceparent, to find the call in logs of servers"),
      OptionDescription(.language, .text("LIST"), "the languages to ask for, such as de,en"),
    ])

  static let connection = OptionGroup(
    title: "Connection",
    options: [
      OptionDescription(
        .proxy, .text("URL"), "http, https or socks5 proxy; 'none' for none; by default the environment's"),
      OptionDescription(.ca, .file, "certificates of authorities to trust besides the system's (PEM)"),
      OptionDescription(.cert, .file, "the client's certificate (PEM, or PKCS#12 with .p12 or .pfx)"),
      OptionDescription(.key, .file, "its private key, if it is in another file (PEM)"),
      OptionDescription(.certPassword, .text("PASSWORD"), "the password of the key or the container"),
      OptionDescription(
        .pin, .text("SHA256"), repeatable: true, "a public key that the server must have: base64 of its SHA-256"),
      OptionDescription(.insecure, "accepts a certificate that is not trusted; for development"),
      OptionDescription(.http1, "uses HTTP/1.1 only; by default HTTP/2 if an https server offers it"),
      OptionDescription(.http2, "uses HTTP/2 for http URLs too, without asking the server"),
    ])

  static let examples: [(command: String, meaning: String)] = [
    ("martlet get api.example.com/orders state==open", "GET https://api.example.com/orders?state=open"),
    ("martlet post :8080/orders item=Tea count:=2 X-Trace:1", "JSON to http://localhost:8080/orders"),
    ("martlet post :8080/orders customer[name]=Ada items[]=Tea", "an object and an array in the JSON"),
    ("martlet post :8080/photos --form title=Sea picture@sea.jpg", "a form with a file"),
    ("martlet put :8080/notes/1 @note.txt", "a file as the body"),
    ("martlet get :8080/orders --verbose --auth ada", "everything that happens; asks for the password"),
    ("martlet get example.com/film.mp4 --download", "a download that the same command continues"),
    ("martlet get example.com/photo.jpg --image", "a photograph, drawn in the terminal"),
    ("martlet get :8080/orders --timeline orders.html", "a picture of the call"),
  ]
}
