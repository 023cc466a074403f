// swift-tools-version: 6.3
import PackageDescription

let features: [SwiftSetting] = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"].map {
  .enableUpcomingFeature($0)
}
// Async functions stay on their caller's actor unless `@concurrent`; tests are compiled like most users' programs.
let settings = features + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
// The families share one package name, so that the tests of each can use the `package` declarations of Client/Support.
let packageName: [SwiftSetting] = [.unsafeFlags(["-package-name", "martlet"])]

extension Target {
  /// A module that sees none of the client's `package` declarations.
  static func outside(name: String, dependencies: [Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, packageAccess: false, swiftSettings: settings)
  }

  /// A module of the client, or one that tests share.
  static func inside(name: String, dependencies: [Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, packageAccess: false, swiftSettings: settings + packageName)
  }

  static func tests(
    name: String, dependencies: [Dependency], exclude: [String] = [], resources: [Resource] = []
  ) -> Target {
    .testTarget(
      name: name, dependencies: dependencies, exclude: exclude, resources: resources, packageAccess: false,
      swiftSettings: features + packageName)
  }

  /// A program that tests start.
  static func program(name: String, dependencies: [Dependency]) -> Target {
    .executableTarget(
      name: name, dependencies: dependencies, path: "Programs/\(name)", packageAccess: false,
      swiftSettings: settings + packageName)
  }
}

func linux(_ modules: String...) -> [Target.Dependency] {
  modules.map { .target(name: $0, condition: .when(platforms: [.linux])) }
}

let package = Package(
  name: "Client",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  targets: [
    // The rules, and the system's libraries.
    .inside(name: "MartletSemantics", dependencies: linux("CIDN2")),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
    .systemLibrary(name: "CSockets"), .systemLibrary(name: "CFiles"),
    .systemLibrary(name: "CIDN2", pkgConfig: "libidn2", providers: [.apt(["libidn2-dev"])]),
    .systemLibrary(name: "CPSL", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CBrotli", pkgConfig: "libbrotlidec", providers: [.apt(["libbrotli-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),

    // The engine, its transports, and the product.
    .inside(
      name: "MartletEngine",
      dependencies: ["MartletSemantics"] + linux("CCrypto", "CFiles", "CPSL", "CZlib", "CBrotli", "CZstd")),
    .inside(
      name: "MartletSockets",
      dependencies: ["MartletEngine", "MartletSemantics"] + linux("COpenSSL", "CNGHTTP2", "CSockets")),
    .inside(name: "MartletURLSession", dependencies: ["MartletEngine", "MartletSemantics"]),
    .inside(
      name: "Martlet",
      dependencies: [
        "MartletEngine", "MartletSemantics",
        .target(name: "MartletSockets", condition: .when(platforms: [.linux])),
        .target(name: "MartletURLSession", condition: .when(platforms: [.macOS, .iOS, .tvOS, .watchOS, .visionOS])),
      ]),

    // Its extensions.
    .outside(name: "MartletObservation", dependencies: ["MartletEngine", "MartletSemantics"]),
    .outside(name: "MartletSignIn", dependencies: ["MartletEngine", "MartletSemantics"]),
    .outside(
      name: "MartletSignatures",
      dependencies: ["MartletEngine", "MartletSemantics", "MartletSignIn"] + linux("CCrypto")),
    .outside(name: "MartletWebSocket", dependencies: ["MartletEngine", "MartletSemantics"] + linux("CZlib")),
    .outside(
      name: "MartletServer",
      dependencies: ["MartletEngine", "MartletSemantics", "MartletWebSocket"] + linux("COpenSSL", "CNGHTTP2")),
    .outside(
      name: "MartletTesting",
      dependencies: ["MartletEngine", "MartletObservation", "MartletSemantics", "MartletServer", "MartletWebSocket"]),

    // What tests share.
    .inside(name: "TestSupport"),
    .inside(name: "CallDoubles", dependencies: ["MartletEngine", "MartletSemantics", "MartletTesting", "TestSupport"]),
    .inside(
      name: "TestServers", dependencies: ["MartletTesting", "MartletEngine", "MartletSemantics", "MartletWebSocket"]),
    .program(
      name: "sockets-program",
      dependencies: ["MartletSockets", "MartletEngine", "MartletSemantics", "CallDoubles"] + linux("CCrypto")),

    .tests(name: "MartletSemanticsTests", dependencies: ["MartletSemantics", "TestSupport"]),
    .tests(
      name: "MartletEngineTests",
      dependencies: [
        "MartletEngine", "MartletSemantics", "MartletSockets", "MartletTesting", "CallDoubles", "TestServers",
        "TestSupport",
      ] + linux("CFiles")),
    .tests(
      name: "MartletSignInTests",
      dependencies: [
        "MartletSignIn", "MartletEngine", "MartletSemantics", "MartletSockets", "MartletTesting", "CallDoubles",
        "TestServers", "TestSupport",
      ]),
    .tests(
      name: "MartletSignaturesTests",
      dependencies: [
        "MartletSignatures", "MartletSignIn", "MartletEngine", "MartletSemantics", "MartletSockets", "MartletTesting",
        "TestServers", "TestSupport",
      ]),
    .tests(
      name: "MartletWebSocketTests",
      dependencies: [
        "MartletWebSocket", "MartletEngine", "MartletObservation", "MartletSemantics", "MartletSockets",
        "MartletTesting", "TestServers", "TestSupport",
      ]),
    .tests(
      name: "MartletObservationTests",
      dependencies: ["MartletObservation", "MartletEngine", "MartletSemantics", "MartletTesting", "TestSupport"]),
    .tests(
      name: "MartletSocketsTests",
      dependencies: [
        "MartletSockets", "MartletEngine", "MartletSemantics", "MartletTesting", "TestServers", "TestSupport",
        "sockets-program",
      ]),
    .tests(
      name: "MartletTransportTests",
      dependencies: [
        "MartletSockets", "MartletURLSession", "MartletEngine", "MartletObservation", "MartletSemantics",
        "MartletTesting", "CallDoubles", "TestServers", "TestSupport",
      ],
      exclude: ["Messages/messages.json", "Messages/server.py", "Differential/python_clients.py", "URLs/urls.json"]),
    .tests(
      name: "MartletTestingTests",
      dependencies: [
        "Martlet", "MartletTesting", "MartletEngine", "MartletObservation", "MartletSemantics", "MartletServer",
        "MartletWebSocket", "TestSupport",
      ]),
  ],
  swiftLanguageModes: [.v6]
)

let extensions = [
  "MartletObservation", "MartletServer", "MartletSignIn", "MartletSignatures", "MartletTesting", "MartletWebSocket",
]
let support = ["CallDoubles", "TestServers", "TestSupport"]
for target in package.targets {
  if target.type == .system { target.path = "Sources/System/" + target.name }
  if extensions.contains(target.name) { target.path = "Extensions/" + target.name }
  if support.contains(target.name) { target.path = "Support/" + target.name }
}
// Every module is a product, for the other families and their tests.
package.products = package.targets.filter { $0.type == .regular || $0.type == .system }.map {
  .library(name: $0.name, targets: [$0.name])
}
// With TESTS=MartletSemanticsTests only the named tests are compiled: those of the rules need neither engine nor sockets.
if let tests = Context.environment["TESTS"]?.split(separator: ",").map(String.init) {
  package.targets.removeAll { $0.type == .test && !tests.contains($0.name) }
}
