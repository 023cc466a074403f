package import Foundation
package import SAPFoundationTesting

/// The command line of `sap-gateway`.
package struct GatewayOptions: Sendable {
  package private(set) var port = 8010
  package private(set) var faults: Set<SAPGateway.Fault> = []
  package private(set) var wantsClientCertificates = false
  package private(set) var isQuiet = false
  package private(set) var wantsHelp = false

  /// Reads the arguments, without the program's name.
  package init(_ arguments: [String]) throws(UsageMistake) {
    var arguments = Arguments(arguments)
    while let argument = arguments.next() {
      switch argument {
      case "--port":
        let text = try arguments.value(of: argument)
        guard let number = Int(text), (0...65_535).contains(number) else {
          throw UsageMistake(description: "--port \(text): a port is a number from 0 to 65535")
        }
        port = number
      case "--fault":
        for name in try arguments.value(of: argument).split(separator: ",") {
          guard let fault = SAPGateway.Fault(rawValue: String(name)) else {
            throw UsageMistake(description: "--fault \(name): there is no such fault; --help lists them")
          }
          faults.insert(fault)
        }
      case "--client-certificates": wantsClientCertificates = true
      case "--quiet": isQuiet = true
      case "--help", "-h": wantsHelp = true
      default: throw UsageMistake(description: "unknown option '\(argument)': see --help")
      }
    }
  }

  package static var help: String {
    let faults = SAPGateway.Fault.allCases.map { fault in
      "  " + fault.rawValue.padding(toLength: 21, withPad: " ", startingAt: 0) + fault.summary
    }
    return """
      sap-gateway: SAP Mobile Services with a Gateway behind it, on this machine, until Ctrl-C.

      usage: sap-gateway [--port N] [--fault NAME]... [--client-certificates] [--quiet]

        --port N      8010 by default, 0 for a free one; it listens on 127.0.0.1 only
        --fault NAME  a fault of all requests; a request chooses others by ?sap-fault=NAME
                      or by the field X-SAP-Fault
        --client-certificates
                      also listens with TLS, for clients with a certificate, and makes one; this
                      needs openssl and python3
        --quiet       prints no line for each request

      Faults:
      \(faults.joined(separator: "\n"))

      """
  }
}

/// The gateway that both programs start, with the picture of the slideshow.
package enum ExampleGateway {
  package static let key = "It's coffee"
  /// The port of the gateway that the shell starts.
  package static let shellPort = 8011

  package static func start(
    port: Int = 0, faults: Set<SAPGateway.Fault> = [], report: @escaping @Sendable (String) -> Void = { _ in }
  ) throws -> SAPGateway {
    let picture = Media(try Data(contentsOf: photo))
    return try SAPGateway(.init(media: [key: picture], faults: faults), port: port, report: report)
  }

  /// A photo of the slideshow.
  package static var photo: URL {
    folder.deletingLastPathComponent().appending(path: "Slideshow/Photos/coffee.jpg")
  }

  /// The folder of this package.
  package static var folder: URL {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  }

  /// What the program prints when it has started.
  package static func greeting(_ gateway: SAPGateway) -> String {
    let orders = gateway.url("/odata/v4/Orders").absoluteString
    return """
      SAP gateway at \(gateway.url), until Ctrl-C. Try:
        curl \(gateway.url)/
        curl -u anna:secret \(orders)
        curl -u anna:secret -i '\(orders)?sap-fault=blocked'

      """
  }
}
