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
}

/// Modules of another family.
func from(_ family: String, _ modules: String...) -> [Target.Dependency] {
  modules.map { .product(name: $0, package: family) }
}

let package = Package(
  name: "Storm",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  dependencies: ["Client", "Images", "Publishers", "SAP", "Stores", "Tasks"].map { .package(path: "../../" + $0) },
  targets: [
    // All entry points, as a program of a user has them: the test and the program `storm` cancel them.
    .target(
      name: "Storm",
      dependencies: from(
        "Client", "Martlet", "MartletObservation", "MartletSignIn", "MartletSignatures", "MartletWebSocket",
        "MartletTesting")
        + from("Publishers", "MartletCombine")
        + from("Stores", "MartletSQLite")
        + from("Tasks", "MartletTasks")
        + from("SAP", "SAPFoundation", "SAPFioriFlows")
        + from("Images", "MartletImages"),
      packageAccess: false, swiftSettings: settings + packageName),
    .executableTarget(
      name: "storm", dependencies: ["Storm"] + from("Client", "Martlet", "MartletTesting", "TestServers"),
      path: "Programs/storm", packageAccess: false, swiftSettings: settings + packageName),
    .tests(name: "StormTests", dependencies: ["Storm", "storm"] + from("Client", "TestSupport")),
    // Families that do not know each other.
    .tests(
      name: "TogetherTests",
      dependencies: from("Client", "Martlet", "MartletWebSocket", "MartletTesting", "TestSupport")
        + from("Publishers", "MartletCombine") + from("SAP", "SAPFoundationTesting")
        + from("Images", "MartletImages")),
  ],
  swiftLanguageModes: [.v6]
)
