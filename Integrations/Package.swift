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
    // A client made by swift-openapi-generator with openapi-generator-config.yaml.
    .target(
      name: "PetAPI",
      dependencies: [
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "OpenAPIRuntime", package: "swift-openapi-runtime"),
      ],
      path: "Tests/PetAPI", exclude: ["openapi.yaml", "openapi-generator-config.yaml"]),
    // The code of the article about the bridges.
    .testTarget(
      name: "ArticleTests",
      dependencies: bridges.map { martlet("Martlet" + $0) } + [
        martlet("Martlet"), martlet("MartletTesting"), "PetAPI",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "OpenAPIRuntime", package: "swift-openapi-runtime"),
        .product(name: "Logging", package: "swift-log"), .product(name: "InMemoryLogging", package: "swift-log"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ]),
    .testTarget(
      name: "HTTPTypesTests",
      dependencies: [
        martlet("Martlet"), martlet("MartletHTTPTypes"), .product(name: "HTTPTypes", package: "swift-http-types"),
      ]),
    .testTarget(
      name: "OpenAPITests",
      dependencies: [
        martlet("Martlet"), martlet("MartletOpenAPI"), martlet("MartletTesting"), "PetAPI",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "OpenAPIRuntime", package: "swift-openapi-runtime"),
      ]),
    .testTarget(
      name: "LoggingTests",
      dependencies: [
        martlet("Martlet"), martlet("MartletLogging"), martlet("MartletTesting"),
        .product(name: "Logging", package: "swift-log"), .product(name: "InMemoryLogging", package: "swift-log"),
      ]),
    .testTarget(
      name: "MetricsTests",
      dependencies: [
        martlet("Martlet"), martlet("MartletMetrics"), martlet("MartletTesting"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
      ]),
    .testTarget(
      name: "TracingTests",
      dependencies: [
        martlet("Martlet"), martlet("MartletTracing"), martlet("MartletTesting"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
      ]),
    .testTarget(
      name: "ServiceLifecycleTests",
      dependencies: [
        martlet("Martlet"), martlet("MartletServiceLifecycle"), martlet("MartletTesting"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
        .product(name: "Logging", package: "swift-log"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)

for target in package.targets where target.name != "PetAPI" {
  target.swiftSettings = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
}
