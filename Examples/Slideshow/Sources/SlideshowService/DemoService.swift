package import MartletSemantics
package import MartletTesting

/// A web service with a slideshow, on this computer. Like any static server, it serves the JSON and the pictures of one
/// folder.
package final class DemoService: Sendable {
  private let server: LoopbackServer

  /// The photographs that come with the example.
  package static let photos = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Photos", directoryHint: .isDirectory)

  /// Starts serving.
  ///
  /// - Parameters:
  ///   - port: the port; 0, the default, for a free one.
  ///   - folder: the folder to serve; by default the example's photographs.
  ///   - rate: the maximum number of bytes of a file per second; nil, the default, for no limit.
  package init(port: Int = 0, folder: URL = DemoService.photos, rate: Int? = nil) throws(LoopbackServerError) {
    let files = StaticFolder(folder)
    server = try LoopbackServer(port: port, recording: .nothing) { request in
      let reply = files.reply(to: request)
      return rate.map { reply.dripped(max(1, Int64($0) / 20), every: .milliseconds(50)) } ?? reply
    }
  }

  /// The URLs of a present or former demo service.
  package struct Addresses: Sendable {
    /// The URL of the JSON.
    package let service: URL
    /// The URL of the folder of the images.
    package let imageBase: URL

    /// Makes the addresses for a port of this computer; nil if the number is not a port.
    package init?(port: Int) {
      guard (1...65_535).contains(port), let base = URL(string: "http://127.0.0.1:\(port)/") else { return nil }
      imageBase = base
      service = base.appending(path: "holidayslideshow.json")
    }
  }

  /// The port on which it listens.
  package var port: Int { server.port }
  /// The URL of the JSON.
  package var service: URL { server.url("/holidayslideshow.json") }
  /// The URL of the folder of the images.
  package var imageBase: URL { server.url("/") }

  package func stop() { server.stop() }
}
