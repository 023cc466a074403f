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

/// Modules of another family.
func from(_ family: String, _ modules: String...) -> [Target.Dependency] {
  modules.map { .product(name: $0, package: family) }
}

let package = Package(
  name: "Inspector",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: ["MartletInspector"].map { .library(name: $0, targets: [$0]) },
  dependencies: [.package(path: "../Client")],
  targets: [
    .target(
      name: "MartletInspector",
      dependencies: from("Client", "MartletSemantics", "MartletEngine", "MartletObservation", "MartletServer"),
      resources: [
        "page.html", "page.js", "table.js", "details.js", "json.js", "resend.js", "style.css",
      ].map { .embedInCode("Page/\($0)") }, packageAccess: false, swiftSettings: settings),
    .program(
      name: "inspector-program",
      dependencies: ["MartletInspector"]
        + from(
          "Client", "MartletSemantics", "MartletEngine", "Martlet", "MartletObservation", "MartletWebSocket",
          "MartletTesting")),
    .tests(
      name: "MartletInspectorTests",
      dependencies: ["MartletInspector"]
        + from(
          "Client", "MartletSemantics", "MartletEngine", "MartletSockets", "MartletObservation", "MartletTesting",
          "TestSupport")),
  ],
  swiftLanguageModes: [.v6]
)
