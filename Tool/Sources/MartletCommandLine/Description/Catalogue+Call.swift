// The options of the commands that make a request, and examples of them.
extension Catalogue {
  static let callGroups: [OptionGroup] = [
    bodyOptions, outputOptions, fileOptions, kept, credentials, behavior, connection, defaults, helpOfCalls,
  ]

  private static let bodyOptions = OptionGroup(
    title: "The request's body",
    options: [
      OptionDescription(.json, short: "j", "sends text and JSON items as JSON, the default, and asks for JSON"),
      OptionDescription(.form, short: "f", "sends them as a form; as multipart/form-data if one is a file"),
      OptionDescription(.multipart, "sends them as multipart/form-data"),
      OptionDescription(.boundary, .text("TEXT"), "the boundary of multipart/form-data, in place of a random one"),
      OptionDescription(
        .raw, .text("TEXT"), "sends this text, as JSON; with --form as a form, and with Content-Type:TYPE as that"),
      OptionDescription(
        .uploadFile, short: "T", .text("FILE"),
        "sends a file with PUT; its name is added to a URL that ends with /; - is standard input"),
      OptionDescription(.compress, short: "x", "sends the body compressed (deflate), if that makes it smaller"),
      OptionDescription(.chunked, "sends the body in chunks, without its length; HTTP/2 has no chunks"),
      OptionDescription(.ignoreStandardInput, short: "I", "does not read the body from standard input"),
    ])

  private static let outputOptions = OptionGroup(
    title: "What is shown",
    options: [
      OptionDescription(
        .verbose, short: "v", "tells on standard error what happens: requests, redirects, cookies, cache, times"),
      OptionDescription(.events, "writes each event as a line of JSON on standard error"),
      OptionDescription(.headers, short: "h", "shows only the head of the response"),
      OptionDescription(.body, short: "b", "shows only the body; the default if the output is not a terminal"),
      OptionDescription(.meta, short: "m", "shows only how long it took, and the server's address"),
      OptionDescription(
        .print, short: "p", .text("PARTS"),
        "shows these parts: H and B, head and body of the request; h, b and m, head, body and --meta of the response"),
      OptionDescription(.all, "shows the heads of redirects and challenges too, if heads are shown"),
      OptionDescription(
        .offline, "makes the request and shows it, or the parts H and B that --print names, and sends nothing"),
      OptionDescription(
        .writeOut, short: "w", .text("FORMAT"),
        "writes this at the end, as curl does: '%{http_code} %{time_total}\\n'; @FILE reads it from a file"),
      OptionDescription(.quiet, short: "q", "shows nothing but errors"),
      OptionDescription(
        .pretty, .oneOf(["all", "format", "colors", "none"]),
        "indents and colors JSON and XML; by default all on a terminal, and none elsewhere"),
      OptionDescription(.sorted, "sorts the fields of heads and the members of JSON, if they are indented"),
      OptionDescription(
        .color, .oneOf(["auto", "always", "never"]), "colors in what is shown; auto, the default, on a terminal"),
      OptionDescription(
        .style, short: "s", .oneOf(Palette.Theme.allCases.map(\.rawValue)),
        "which colors; auto, the default, has those of the terminal"),
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
      OptionDescription(.remoteName, short: "O", "writes the body to a file with the last name in the URL's path"),
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
        .session, .text("NAME"),
        "keeps cookies, fields of the head and credentials for the URL's host under a name, or in a file: ./a.json"),
      OptionDescription(.sessionReadOnly, .text("NAME"), "reads a session, and does not change it"),
      OptionDescription(
        .cookies, .file,
        "reads and writes cookies in the format of curl and wget; does not replace a file that has other lines"
      ),
      OptionDescription(.cache, .folder, "keeps responses in a folder, as HTTP allows it"),
      OptionDescription(.onlyCached, "answers from --cache only, without the network"),
    ])

  static let credentials = OptionGroup(
    title: "Credentials",
    options: [
      OptionDescription(
        .auth, short: "a", .text("USER:PASSWORD"), "credentials for the URL's host; without PASSWORD, asks for it"),
      OptionDescription(
        .authType, short: "A", .oneOf(["basic", "digest", "bearer"]),
        "what they are, basic by default; with bearer, --auth is the token"),
      OptionDescription(.netrc, "takes user and password from $NETRC, otherwise ~/.netrc"),
      OptionDescription(.netrcFile, .file, "takes user and password from this file"),
      OptionDescription(
        .awsSignature, .text("SPEC"),
        "signs for AWS: aws:amz:REGION:SERVICE, or aws:amz if the host has both; --auth, otherwise $AWS_ACCESS_KEY_ID, has the keys"
      ),
      OptionDescription(
        .dpop, .file,
        "--auth is an access token that is bound to the private key in this file (RFC 9449), and is sent with its proof"
      ),
      OptionDescription(
        .sign, .file,
        "signs requests to the URL's origin (RFC 9421) with the private key in this file: PEM, a JSON Web Key, or with --sign-algorithm hmac-sha256 a secret"
      ),
      OptionDescription(.signID, .text("ID"), "the identifier of that key, which the signature names (keyid)"),
      OptionDescription(
        .signAlgorithm, .oneOf(SigningOptions.algorithms),
        "the algorithm of the keys of --sign, --verify-signature and --dpop; needed for secrets, and for RSA unless it is rsa-pss-sha512. Keys of different algorithms: JSON Web Keys with alg"
      ),
      OptionDescription(
        .signCovering, .text("LIST"),
        "what is signed: names of fields, and others such as @method,@path; by default @method, @target-uri, content-digest of a body, and if they are sent authorization, content-type and dpop"
      ),
      OptionDescription(
        .verifySignature, .file,
        "accepts only responses whose @status and content-digest, and location of redirects, are signed by the key in this file, whatever server they are from"
      ),
      OptionDescription(
        .digest, .oneOf(SigningOptions.digests),
        "sends Content-Digest (RFC 9530) with the body, as --sign does with sha-256, and checks the digests of responses"
      ),
      OptionDescription(
        .csrf, .text("ROOT"), "fetches a CSRF token there for requests that change something, and renews it"),
    ])

  private static let behavior = OptionGroup(
    title: "Behavior",
    options: [
      OptionDescription(.checkStatus, "ends with 3, 4 or 5 for a status 3xx, 4xx or 5xx"),
      OptionDescription(.noRedirects, "does not follow redirects"),
      OptionDescription(.maxRedirects, .count, "follows at most this many redirects; 20 by default"),
      OptionDescription(.pathAsIs, "sends the segments . and .. of the URL's path, which are resolved otherwise"),
      OptionDescription(
        .timeout, .seconds,
        "the limit for connecting, 30 by default, and for the wait for the response and each pause in it, 60 by default"
      ),
      OptionDescription(
        .deadline, .seconds, "the limit for everything together, with redirects and retries; none by default"),
      OptionDescription(
        .limitRate, .rate, "transfers bodies at this rate at most: bytes a second, or with k, M or G, as in 500k"),
      OptionDescription(
        .speedLimit, .rate, "fails if a body is transferred more slowly than this for --speed-time; --retry resumes it"),
      OptionDescription(.speedTime, .seconds, "the time for --speed-limit; 30 by default"),
      OptionDescription(.retry, .count, "retries after transient failures, at most this many times"),
      OptionDescription(.correlation, "adds X-CorrelationID and traceparent, to find the call in logs of servers"),
      OptionDescription(.language, .text("LIST"), "the languages to ask for, such as de,en"),
    ])

  static let connection = OptionGroup(
    title: "Connection",
    options: [
      OptionDescription(
        .proxy, .text("URL"), repeatable: true,
        "http, https or socks5 proxy; 'none' for none; by default the environment's; http:URL or https:URL is for such URLs"
      ),
      OptionDescription(.ca, .file, "certificates of authorities to trust besides the system's (PEM)"),
      OptionDescription(.cert, .file, "the client's certificate (PEM, or PKCS#12 with .p12 or .pfx)"),
      OptionDescription(.key, .file, "its private key, if it is in another file (PEM)"),
      OptionDescription(.certPassword, .text("PASSWORD"), "the password of the key or the container"),
      OptionDescription(
        .pin, .text("SHA256"), repeatable: true, "a public key that the server must have: base64 of its SHA-256"),
      OptionDescription(.insecure, "accepts a certificate that is not trusted; for development"),
      OptionDescription(.verify, .text("no|FILE"), "no is --insecure, and a file is --ca FILE"),
      OptionDescription(.ssl, .oneOf(["tls1.2", "tls1.3"]), "the lowest version of TLS; tls1.2 by default"),
      OptionDescription(.http1, "uses HTTP/1.1 only; by default HTTP/2 if an https server offers it"),
      OptionDescription(.http2, "uses HTTP/2 for http URLs too, without asking the server"),
      OptionDescription(
        .resolve, .text("HOST:PORT:ADDRESS"), repeatable: true,
        "connects to this address for a host; PORT may be left out, and more addresses follow after commas"),
      OptionDescription(.unixSocket, .file, "connects to a Unix socket, whatever the host"),
      OptionDescription(.interface, .text("NAME"), "connects from this interface, or from an IP address of it"),
      OptionDescription(
        .defaultScheme, .oneOf(["http", "https"]),
        "the scheme of a URL without one; by default http for this machine, and https otherwise"),
    ])

  /// The options of HTTPie for what this program does anyway.
  private static let defaults = OptionGroup(
    title: "Defaults; accepted for compatibility with HTTPie",
    options: [
      OptionDescription(.follow, short: "F", "follows redirects"),
      OptionDescription(.stream, short: "S", "shows the body as it arrives"),
      OptionDescription(.unsorted, "leaves fields and members in the order of the server"),
      OptionDescription(.continuing, short: "c", "continues a download that was interrupted"),
      OptionDescription(.ignoreNetrc, "takes no user and password from ~/.netrc"),
    ])

  /// -h is HTTPie's --headers.
  private static let helpOfCalls = OptionGroup(
    title: everywhere.title,
    options: [OptionDescription(.help, "shows this help")] + everywhere.options.filter { $0.name != .help })

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
