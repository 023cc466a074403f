// The names that the blocks of articles use and that stand for a reader's own, beside those of example-context.swift: those
// of one module's articles are in an extension named after it. This file is only type-checked; see scripts/examples.

import Foundation
import Martlet
import MartletImages
import MartletKerberos
import MartletObservation
import MartletSignIn
import MartletSignatures
import MartletTasks
import MartletTesting
import MartletWebSocket
import SAPFioriFlows
import SAPFoundation
import SAPOData

extension MartletArticles {
  struct Order: Codable, Sendable {
    var id: Int
    var lines: [String]
  }
  static var number: Int { some() }
  static var service: URL { some() }
  static var admin: URL { some() }
  static var archive: URL { some() }
  static var home: URL { some() }
  static var loginURL: URL { some() }
  static var reports: URL { some() }
  static var fixture: URL { some() }
  static var news: HTTPRequest { some() }
  static var second: HTTPSession { some() }
  static var proxyPort: Int { some() }
  static var tokens: TokenSource { some() }
  static var clock: ManualClock { some() }

  // The shapes of SwiftNIO and Hummingbird.
  struct ByteBuffer: Sendable {
    var readableBytesView: ArraySlice<UInt8>
    init(bytes: some Sequence<UInt8>) { readableBytesView = ArraySlice(bytes) }
  }
  enum Hummingbird {
    struct Request: Sendable {
      var uri: Path
      var body: AsyncStream<ByteBuffer>
    }
    struct Path: Sendable {
      var string: String
    }
    struct Response: Sendable {
      var status: Status
      var body: ResponseBody
    }
    struct Status: Sendable {
      var code: Int
    }
    struct ResponseBody: Sendable {
      init<Buffers: AsyncSequence & Sendable>(asyncSequence: Buffers) where Buffers.Element == ByteBuffer {}
    }
  }
  static var script: ScriptedTransport { some() }
  static var metrics: CallMetrics { some() }
}

extension MartletTasksArticles {
  typealias ShopAccount = any Authenticator
}

extension MartletObservationArticles {
  static var metrics: CallMetrics { some() }
}

extension MartletSignInArticles {
  static var service: URL { some() }
}

extension MartletWebSocketArticles {
  static var socket: WebSocket { some() }
  static var film: AsyncStream<Data> { some() }
}

extension MartletRedisArticles {
  static var address: String { some() }
  static var secret: Data { some() }
}

extension MartletKerberosArticles {
  static var intranet: URL { some() }
  static var tickets: KerberosTickets { some() }
  static var host: String { some() }
}

extension MartletImagesArticles {
  static var site: URL { some() }
  static var pictures: [ImageRequest] { some() }
  static var loader: ImageLoader { some() }
  static func draw(_ bitmap: Bitmap) {}
}

extension SAPFoundationArticles {
  static var session: SAPURLSession { some() }
  static var backend: URL { some() }
  static var gateway: URL { some() }
  static var profile: URLRequest { some() }
  static var queue: DispatchQueue { some() }
  static var pin: String { some() }
  static var companyAuthority: URL { some() }
  static func report(_ error: SAPcpmsUserBlockedError) {}
  @Sendable static func done(_ data: Data?, _ error: (any Error)?) {}
}

extension SAPFioriFlowsArticles {
  static var flows: any OnboardingFlowProviding { some() }
  static var errors: any OnboardingControllerDelegate { some() }
}

extension SAPODataArticles {
  struct Order: Codable, Sendable {
    var ID: Int?
    var Customer: String
    var Total: Decimal
    var Status: String?
  }
  static var root: URL { some() }
  static var provider: OnlineODataProvider { some() }
  static var path: ODataPath { some() }
  static var order: ODataEntity<Order> { some() }
  static var picture: Data { some() }
  static var first: ODataLink? { some() }
}
