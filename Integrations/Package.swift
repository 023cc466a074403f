// swift-tools-version: 6.2
import PackageDescription

// The bridges to other packages, with all traits and with the packages themselves. Run it with `make integrations`.
let bridges = ["HTTPTypes", "OpenAPI", "Logging", "Metrics", "Tracing", "ServiceLifecycle"]

func martlet(_ name: String) -> Target.Dependency { .product(name: name, package: "Martlet") }

let package = Package(
  name: "Integrations",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Martlet", path: "..", traits: .init(bridges.map { .init(stringLiteral: $0) })),
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-openapi-runtime.git", from: "1.11.0"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.14.0"),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.10.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.4.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.11.0"),
  ],
  targets: [
    .testTarget(
      name: "HTTPTypesTests",
      dependencies: [
        martlet("Martlet"), martlet("MartletHTTPTypes"), .product(name: "HTTPTypes", package: "swift-http-types"),
      ])
  ],
  swiftLanguageModes: [.v6]
)

for target in package.targets {
  target.swiftSettings = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
}
