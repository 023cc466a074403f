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
  name: "SAP",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: ["SAPFoundation", "SAPFioriFlows", "SAPCommon", "SAPOData", "SAPFoundationTesting"].map {
    .library(name: $0, targets: [$0])
  },
  dependencies: [.package(path: "../Client"), .package(path: "../Publishers"), .package(path: "../Stores")],
  targets: [
    .outside(
      name: "SAPFoundation",
      dependencies: from(
        "Client", "MartletSemantics", "MartletEngine", "MartletURLSession", "Martlet", "MartletObservation",
        "MartletSignIn", "MartletWebSocket")
        + from("Publishers", "MartletCombine", "MartletCombineFoundation")
        + from("Stores", "MartletSQLite")),
    .outside(name: "SAPCommon", dependencies: ["SAPFoundation"]),
    .outside(
      name: "SAPFioriFlows",
      dependencies: ["SAPFoundation"] + from("Client", "MartletSemantics", "MartletEngine", "MartletURLSession")),
    .outside(
      name: "SAPOData",
      dependencies: ["SAPFoundation"] + from("Client", "MartletSemantics", "MartletEngine", "MartletURLSession")),
    .outside(
      name: "SAPFoundationTesting",
      dependencies: from("Client", "MartletSemantics", "MartletServer", "MartletTesting")),
    .program(name: "sap-program", dependencies: ["SAPFoundation"]),
    .program(name: "flow-program", dependencies: ["SAPFioriFlows"]),
    .tests(
      name: "SAPFoundationTests",
      dependencies: ["SAPFoundation", "SAPFioriFlows", "SAPFoundationTesting", "sap-program"]
        + from(
          "Client", "MartletSemantics", "MartletEngine", "MartletURLSession", "Martlet", "MartletWebSocket",
          "MartletTesting", "TestSupport", "TestServers")
        + from("Publishers", "MartletCombine")
        + from("Stores", "MartletSQLite")),
    .tests(
      name: "SAPFioriFlowsTests",
      dependencies: ["SAPFoundation", "SAPFioriFlows", "SAPFoundationTesting", "flow-program"]
        + from("Client", "MartletSemantics", "MartletEngine", "Martlet", "MartletTesting", "TestSupport")),
    .tests(
      name: "SAPODataTests",
      dependencies: ["SAPFoundation", "SAPOData", "SAPFoundationTesting"]
        + from("Client", "MartletSemantics", "MartletEngine", "MartletTesting", "TestSupport")),
  ],
  swiftLanguageModes: [.v6]
)
