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
  name: "Tasks",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: ["MartletTasks", "MartletTasksTesting"].map { .library(name: $0, targets: [$0]) },
  dependencies: [.package(path: "../Client"), .package(path: "../Publishers")],
  targets: [
    .outside(
      name: "MartletTasks",
      dependencies: from("Client", "MartletSemantics", "MartletEngine", "Martlet")
        + from("Publishers", "MartletCombine")),
    .outside(
      name: "MartletTasksTesting",
      dependencies: ["MartletTasks"]
        + from("Client", "MartletSemantics", "MartletEngine", "Martlet")
        + from("Publishers", "MartletCombine")),
    .tests(
      name: "MartletTasksTests",
      dependencies: ["MartletTasks", "MartletTasksTesting"]
        + from(
          "Client", "MartletSemantics", "MartletEngine", "Martlet", "MartletObservation", "MartletTesting",
          "TestSupport"),
      resources: [.copy("Fixtures")]),
  ],
  swiftLanguageModes: [.v6]
)
