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

  static func tests(
    name: String, dependencies: [Dependency], exclude: [String] = [], resources: [Resource] = []
  ) -> Target {
    .testTarget(
      name: name, dependencies: dependencies, exclude: exclude, resources: resources, packageAccess: false,
      swiftSettings: features + packageName)
  }
}

/// Modules of another family.
func from(_ family: String, _ modules: String...) -> [Target.Dependency] {
  modules.map { .product(name: $0, package: family) }
}

let package = Package(
  name: "Tool",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  // martlet-plain is the tool without --image, and so without the libraries of the image formats.
  products: [
    .executable(name: "martlet", targets: ["martlet-tool"]),
    .executable(name: "martlet-plain", targets: ["martlet-plain-tool"]),
  ],
  dependencies: ["Client", "Images", "Inspector", "Stores"].map { .package(path: "../" + $0) },
  targets: [
    // All of the tool except the entry points is a library, so that tests run it in their process.
    .outside(
      name: "MartletCommandLine",
      dependencies: from(
        "Client", "MartletSemantics", "MartletEngine", "MartletSockets", "MartletObservation", "MartletSignIn",
        "MartletSignatures", "MartletWebSocket", "MartletServer", "MartletTesting")
        + from("Stores", "MartletSQLite")
        + from("Inspector", "MartletInspector")),
    .outside(
      name: "MartletToolImages",
      dependencies: ["MartletCommandLine"]
        + from("Client", "MartletSemantics", "MartletEngine")
        + from("Images", "MartletImages")),
    .executableTarget(
      name: "martlet-tool", dependencies: ["MartletCommandLine", "MartletToolImages"], packageAccess: false,
      swiftSettings: settings),
    .executableTarget(
      name: "martlet-plain-tool", dependencies: ["MartletCommandLine"], packageAccess: false, swiftSettings: settings),
    .tests(
      name: "MartletCommandLineTests",
      dependencies: ["MartletCommandLine", "MartletToolImages", "martlet-tool", "martlet-plain-tool"]
        + from(
          "Client", "MartletSemantics", "MartletEngine", "MartletSockets", "MartletObservation", "MartletWebSocket",
          "MartletTesting", "TestSupport", "TestServers")
        + from("Images", "MartletImages")
        + from("Inspector", "MartletInspector")),
  ],
  swiftLanguageModes: [.v6]
)
