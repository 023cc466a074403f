// The names that the examples in comments use: each stands for any value of its type. The names for the examples of one
// module are in an extension named after it. This file is only type-checked; see scripts/examples.

import Foundation
import FoundationNetworking
import Martlet
import MartletCombine
import MartletImages
import MartletInspector
import MartletKerberos
import MartletObservation
import MartletRedis
import MartletSQLite
import MartletSignIn
import MartletSignatures
import MartletTasks
import MartletTasksTesting
import MartletTesting
import MartletURLSession
import MartletWebSocket
import SAPFioriFlows
import SAPFoundation
import SAPFoundationTesting
import SAPOData
import Testing

func some<T>(_ type: T.Type = T.self) -> T { fatalError() }

// Requests, sessions and servers.
let session = HTTPSession()
var configuration: SessionConfiguration {
  get { some() }
  set {}
}
var request: HTTPRequest {
  get { some() }
  set {}
}
var response: HTTPResponse { some() }
var fields: HTTPFields { some() }
var connection: ConnectionConfiguration {
  get { some() }
  set {}
}
var data: Data { some() }
var chunks: [Data] { some() }
var transport: any Transport { some() }

/// A request that a server framework has received, whose chunks are ByteBuffers of SwiftNIO.
struct IncomingRequest: Sendable {
  struct Buffer: Sendable { var readableBytesView: ArraySlice<UInt8> }
  var body: AsyncStream<Buffer>
}
var incoming: IncomingRequest { some() }
var films: [FileDownload] { some() }
func show(_ fraction: Double?, for film: FileDownload) {}

// Addresses and files.
var url: URL { some() }
var api: URL { some() }
var serviceURL: URL { some() }
var page: URL { some() }
var tokenURL: URL { some() }
var imageOnAnotherSite: URL { some() }
var file: URL { some() }
var folder: URL { some() }
var photo: URL { some() }
var certificate: URL { some() }
var fixtures: URL { some() }

// The types of an app.
struct Order: Codable, Sendable {}
struct Shop: Codable, Sendable {}
struct Token: Codable, Sendable { var text: String }
struct Login: Sendable {
  func refresh(_ token: String?) async throws -> AccessToken { some() }
  func fetchSessionCookie(_ session: HTTPSession?) async throws {}
}
struct ShopDecoder: NetworkResponseDecoder {
  func decode<T: Decodable & Sendable>(_ type: T.Type, from response: HTTPResponse, data: Data) throws -> T { some() }
}
protocol CartRepository: Sendable {}
struct RemoteCart: CartRepository {}
struct LocalCart: CartRepository {}
protocol PriceMapper: Sendable {}
struct RoundedPrice: PriceMapper {}
struct ExactPrice: PriceMapper {}
final class RecordedAnswers: URLProtocol {}
final class Spinner: Sendable {
  var isHidden: Bool {
    get { some() }
    set {}
  }
}
extension Bundle { static var module: Bundle { some() } }

var order: Data { some() }
var report: Order { some() }
var place: Order { some() }
var cart: Order { some() }
var key: String { some() }
var password: String { some() }
var token: String { some() }
var stored: AccessToken? { some() }
var saved: DownloadResumption? {
  get { some() }
  set {}
}
var login: Login { some() }
var spinner: Spinner { some() }
var log: Logging.Logger { some() }
var cache: HTTPCache { some() }
var redis: RedisClient { some() }
var counter: TaskCounter { some() }
var jar: CookieJar { some() }
var store: any KeyValueStore { some() }
var settings: SAPcpmsSettingsParameters { some() }
var authenticator: any OAuth2Authentication { some() }
var browser: any CookiePagePresenting { some() }
var removal: any LockAndWipeEventObserving { some() }
var deviceToken: Data { some() }
var loginScreen: any BasicCredentialDiscovery { some() }
var storage: CodableStorage { some() }
var service: MobileServices { some() }
func serve(with session: HTTPSession) async throws {}
func showBlocked(_ error: SAPcpmsUserBlockedError) {}
func fetchToken(_ url: URL) async throws -> String { some() }
@Sendable func showPasswordDialog(_ question: PasswordSource.Question) async -> Credential? { some() }
func fetchToken(_ session: HTTPSession?) async throws -> String { some() }
func account() -> NetworkTask<Token> { some() }
func orders(of account: Token) -> NetworkTask<Order> { some() }
func shop() -> NetworkTask<Shop> { some() }
@Sendable func save(_ token: AccessToken?) {}

// Loggers of other packages.
enum Logging {
  struct Logger: Sendable {
    func warning(_ text: String) {}
  }
}
enum os {
  struct Logger: Sendable {
    enum Level { case info, error }
    init(subsystem: String, category: String) {}
    func log(level: Level, _ text: String) {}
  }
}

extension MartletKerberosExamples {
  static var intranet: URL { some() }
}

extension MartletRedisExamples {
  static var secret: Data { some() }
}

extension MartletEngineExamples {
  static var body: ResponseBody { some() }
  static func installRoute() throws {}
}

extension MartletSignInExamples {
  static var client: OAuthClient { some() }
  static var authorize: URL { some() }
  static var tokens: URL { some() }
  static var issuer: URL { some() }
  static var secret: String { some() }
}

extension MartletSignaturesExamples {
  static var user: String { some() }
  static var login: OAuthLogin { some() }
  static var server: OAuthServer { some() }
  static var text: String { some() }
  static var secret: Data { some() }
  static var key: SignatureKey { some() }
  static var serverKey: SignatureKey { some() }
  static var fields: HTTPFields {
    get { some() }
    set {}
  }
}

extension MartletWebSocketExamples {
  static var socket: WebSocket { some() }
  static var response: HTTPResponse { some() }
}

extension MartletImagesExamples {
  static var image: LoadedImage { some() }
  static var key: ImageKey { some() }
  static var request: ImageRequest { some() }
  static var requests: [ImageRequest] { some() }
  static var loader: ImageLoader { some() }
  static var position: Int { some() }
  static var first: URL { some() }
  static var second: URL { some() }
  static var bitmap: Bitmap { some() }
  static var box: PixelSize { some() }
  static var body: ResponseBody { some() }
  static func decodeBMP(_ data: Data, limit: Int) throws(ImageError) -> Bitmap { some() }
  static func show(_ picture: some Any, for duration: Duration? = nil) {}
  static func draw(_ phase: some Any) {}
  static func report(_ text: String) {}
}

extension SAPFoundationExamples {
  static var session: SAPURLSession { some() }
  static var request: URLRequest {
    get { some() }
    set {}
  }
  static var storage: any CodableStoring { some() }
  static var service: URL { some() }
  static var settings: SAPcpmsSettingsParameters { some() }
  static var loginScreen: any BasicCredentialDiscovery { some() }
  static var authenticator: any OAuth2Authentication { some() }
  static var store: any OAuth2TokenStore { some() }
  static var container: Data { some() }
  static func showBlocked(_ error: some Any) {}
  static var placeholder: Data { some() }
  static func show(_ picture: some Any) {}
  static func decode(_ data: Data) throws -> Order { some() }
  static var loginPage: any SAMLAuthentication { some() }
  static var passwordPage: any OTPAuthentication { some() }
  static var enrolment: any UserIdentityObtaining { some() }
  static var secrets: CodableStorage { some() }
  static var authorize: URL { some() }
  static var redirect: URL { some() }
  static var tokens: URL { some() }
  static var backend: URL { some() }
  static var secret: String { some() }
  static var failure: any Error { some() }
}

extension SAPFioriFlowsExamples {
  static var screens: any FlowPresentationDelegate { some() }
  static var flows: any OnboardingFlowProviding { some() }
  static var errors: any OnboardingControllerDelegate { some() }
  static var steps: [any OnboardingStep] { some() }
  static var backend: URL { some() }
  static var loginScreen: any BasicCredentialDiscovery { some() }
}

extension SAPFoundationTestingExamples {
  static var service: MobileServices { some() }
  static var jpeg: Data { some() }
}

extension SAPODataExamples {
  struct Item: Codable, Sendable { var name = "" }
  struct Order: Codable, Sendable {
    var customer = ""
    var status = ""
    var items: [Item] = []
  }
  static var backend: URL { some() }
  static var provider: OnlineODataProvider { some() }
  static var order: Order { some() }
  static var path: ODataPath { some() }
  static var tag: String { some() }
  static var file: FileHandle { some() }
}
