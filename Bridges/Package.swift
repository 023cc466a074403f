// swift-tools-version: 6.3
import PackageDescription

let features: [SwiftSetting] = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"].map {
  .enableUpcomingFeature($0)
}
// Async functions stay on their caller's actor unless `@concurrent`; tests are compiled like most users' programs.
let settings = features + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

extension Target {
  /// A module that sees none of the client's `package` declarations.
  static func outside(name: String, dependencies: [Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, packageAccess: false, swiftSettings: settings)
  }
}

func client(_ module: String) -> Target.Dependency { .product(name: module, package: "Client") }

let package = Package(
  name: "Bridges",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    "MartletHTTPTypes", "MartletOpenAPI", "MartletLogging", "MartletMetrics", "MartletTracing",
    "MartletServiceLifecycle",
  ].map { .library(name: $0, targets: [$0]) },
  // Each bridge to another package has a trait. None is on by default: the packages are then neither resolved nor
  // fetched, and the bridge's module is empty. A condition names one trait, because SwiftPM requires all named traits.
  traits: [
    .trait(name: "HTTPTypes", description: "MartletHTTPTypes: requests and responses of swift-http-types"),
    .trait(
      name: "OpenAPI", description: "MartletOpenAPI: a transport for swift-openapi-generator's clients",
      enabledTraits: ["HTTPTypes"]),
    .trait(name: "Logging", description: "MartletLogging: writes what calls do to swift-log"),
    .trait(name: "Metrics", description: "MartletMetrics: reports what calls do to swift-metrics"),
    .trait(name: "Tracing", description: "MartletTracing: spans of swift-distributed-tracing"),
    .trait(name: "ServiceLifecycle", description: "MartletServiceLifecycle: a session that a ServiceGroup ends"),
  ],
  dependencies: [
    .package(path: "../Client"),
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-openapi-runtime.git", from: "1.11.0"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.14.0"),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.10.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.4.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.11.0"),
  ],
  targets: [
    // Bridges to other packages, each behind its trait.
    .outside(
      name: "MartletHTTPTypes",
      dependencies: [
        client("MartletEngine"), client("MartletSemantics"),
        .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["HTTPTypes"])),
      ]),
    .outside(
      name: "MartletOpenAPI",
      dependencies: [
        "MartletHTTPTypes", client("MartletEngine"), client("MartletSemantics"),
        .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["OpenAPI"])),
        .product(name: "OpenAPIRuntime", package: "swift-openapi-runtime", condition: .when(traits: ["OpenAPI"])),
      ]),
    .outside(
      name: "MartletLogging",
      dependencies: [
        client("MartletEngine"), client("MartletSemantics"),
        .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
      ]),
    .outside(
      name: "MartletMetrics",
      dependencies: [
        client("MartletEngine"), client("MartletObservation"), client("MartletSemantics"),
        .product(name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
      ]),
    .outside(
      name: "MartletTracing",
      dependencies: [
        client("MartletEngine"), client("MartletSemantics"),
        .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
      ]),
    .outside(
      name: "MartletServiceLifecycle",
      dependencies: [
        client("Martlet"), client("MartletEngine"), client("MartletSemantics"),
        .product(
          name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["ServiceLifecycle"])),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
