@_spi(Toolkit) import MartletSemantics
import MartletTesting

/// The answer to `GET /`: what the gateway has, as text, or as JSON for `Accept: application/json`.
struct GatewayListing {
  private struct Entry: Encodable {
    let name, summary: String
  }

  private struct Document: Encodable {
    let users, resources, faults: [Entry]
    let notes: [String]
  }

  private let settings: SAPGateway.Settings
  private let wantsJSON: Bool
  private let host: String

  init(_ settings: SAPGateway.Settings, _ request: ReceivedRequest) {
    self.settings = settings
    wantsJSON = request.fields[.accept]?.contains("json") == true
    host = request.fields[.host] ?? "127.0.0.1"
  }

  var reply: Reply {
    guard wantsJSON else { return .text(text) }
    return (try? .json(encoding: document)) ?? .status(.internalServerError)
  }

  private var document: Document {
    Document(
      users: settings.users.sorted { $0.key < $1.key }.map { Entry(name: $0.key, summary: $0.value) },
      resources: resources,
      faults: SAPGateway.Fault.allCases.map { Entry(name: $0.rawValue, summary: $0.summary) }, notes: Self.notes)
  }

  private var resources: [Entry] {
    let id = settings.applicationID
    let app = "/mobileservices/application/\(id)"
    let images = settings.media.keys.sorted().map { key in
      let quoted = PercentEncoding.pathSegment.encode(key.replacingScalar("'", with: "''"))
      return Entry(name: "/backend/Images('\(quoted)')/$value", summary: "a picture with ETag and max-age")
    }
    return [
      Entry(name: "/odata/v2", summary: "OData V2: the set Orders, batches, deltas, media"),
      Entry(name: "/odata/v4", summary: "the same as OData V4, with orders of its own"),
    ] + images + [
      Entry(name: "\(app)/roleservice/application/\(id)/v2/Me", summary: "the user and the roles"),
      Entry(
        name: "\(app)/Storage/v1/runtime/application/\(id)/global/mobileservices/settingsExchange",
        summary: "settings; also currentuser/…"),
      Entry(name: "\(app)/clientlogs/v1/runtime/log/application/\(id)", summary: "POST log lines: 204"),
      Entry(name: "\(app)/endpoints", summary: "the destinations"),
      Entry(
        name: "/mobileservices/push/v1/runtime/applications/\(id)/os/ios/devices/DEVICE",
        summary: #"POST {"pushToken":…}, DELETE"#),
      Entry(name: "/mobileservices/sessions/logout", summary: "POST ends the session"),
      Entry(name: "/oauth2/api/v1/authorize", summary: "redirects with a code, after Basic credentials"),
      Entry(name: "/oauth2/api/v1/token", summary: "POST a grant; refresh tokens work once"),
    ]
  }

  private static let notes = [
    "A request chooses faults by ?sap-fault=NAME or X-SAP-Fault: NAME; several are separated by commas.",
    "A query makes another URL: use the field to test caches.",
    "Writes need the token that a GET with 'X-CSRF-Token: Fetch' returns, and the cookie of that response.",
    "Client certificates: the gateway has no TLS, but the program sap-gateway offers them with --client-certificates.",
  ]

  private var text: String {
    let document = document
    func lines(_ entries: [Entry]) -> String {
      let width = (entries.map(\.name.count).filter { $0 < 24 }.max() ?? 0) + 2
      return entries.map { entry in
        let gap =
          entry.name.count < 24
          ? String(repeating: " ", count: width - entry.name.count) : "\n" + String(repeating: " ", count: width + 2)
        return "  " + entry.name + gap + entry.summary
      }.joined(separator: "\n")
    }
    return """
      SAP gateway at http://\(host)

      \(document.notes.joined(separator: "\n"))

      Users and passwords:
      \(lines(document.users))

      Resources:
      \(lines(document.resources))

      Faults:
      \(lines(document.faults))

      """
  }
}
