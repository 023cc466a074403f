// swift-tools-version: 6.3
import PackageDescription

extension Target {
  /// A module outside of the client, which sees none of its `package` declarations.
  static func outside(name: String, dependencies: [Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, packageAccess: false)
  }
}
// A target imports only modules above it in ARCHITECTURE.md's table. `scripts/check` builds with the explicit import
// check, so that a missing line here is an error.
let package = Package(
  name: "Martlet",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    "Martlet", "MartletEngine", "MartletSemantics", "MartletObservation", "MartletInspector", "MartletSignIn",
    "MartletWebSocket", "MartletSockets",
    "MartletURLSession", "MartletCombine", "MartletCombineFoundation", "SAPFoundation", "SAPOData", "MartletSQLite",
    "MartletTasks", "MartletTasksTesting", "MartletImages", "MartletTesting", "SAPFoundationTesting",
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
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-openapi-runtime.git", from: "1.11.0"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.14.0"),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.10.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.4.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.11.0"),
  ],
  targets: [
    // Pure values, and the system's libraries.
    .target(name: "MartletSemantics", dependencies: [.target(name: "CIDN2", condition: .when(platforms: [.linux]))]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
    .systemLibrary(name: "CSockets"), .systemLibrary(name: "CFiles"),
    .systemLibrary(name: "CIDN2", pkgConfig: "libidn2", providers: [.apt(["libidn2-dev"])]),
    .systemLibrary(name: "CPSL", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CBrotli", pkgConfig: "libbrotlidec", providers: [.apt(["libbrotli-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CJPEG", pkgConfig: "libjpeg", providers: [.apt(["libjpeg-dev"])]),
    .systemLibrary(name: "CTurboJPEG", pkgConfig: "libturbojpeg", providers: [.apt(["libturbojpeg0-dev"])]),
    .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
    .systemLibrary(name: "CWebP", pkgConfig: "libwebp", providers: [.apt(["libwebp-dev"])]),
    .systemLibrary(name: "CWebPDemux", pkgConfig: "libwebpdemux", providers: [.apt(["libwebp-dev"])]),
    .systemLibrary(name: "CGIF", pkgConfig: "libgif", providers: [.apt(["libgif-dev"])]),
    .systemLibrary(name: "CLittleCMS", pkgConfig: "lcms2", providers: [.apt(["liblcms2-dev"])]),

    // The engine.
    .target(
      name: "MartletEngine",
      dependencies: [
        "MartletSemantics", .target(name: "CCrypto", condition: .when(platforms: [.linux])),
        .target(name: "CFiles", condition: .when(platforms: [.linux])),
        .target(name: "CPSL", condition: .when(platforms: [.linux])),
        .target(name: "CZlib", condition: .when(platforms: [.linux])),
        .target(name: "CBrotli", condition: .when(platforms: [.linux])),
        .target(name: "CZstd", condition: .when(platforms: [.linux])),
      ]),

    // Implementations of the engine's protocols.
    .target(
      name: "MartletSockets",
      dependencies: [
        "MartletEngine", "MartletSemantics", .target(name: "COpenSSL", condition: .when(platforms: [.linux])),
        .target(name: "CNGHTTP2", condition: .when(platforms: [.linux])),
        .target(name: "CSockets", condition: .when(platforms: [.linux])),
      ]),
    .target(name: "MartletURLSession", dependencies: ["MartletEngine", "MartletSemantics"]),
    .outside(name: "MartletObservation", dependencies: ["MartletEngine", "MartletSemantics"]),
    .outside(name: "MartletSignIn", dependencies: ["MartletEngine", "MartletSemantics"]),
    .outside(
      name: "MartletWebSocket",
      dependencies: [
        "MartletEngine", "MartletSemantics", .target(name: "CZlib", condition: .when(platforms: [.linux])),
      ]),
    .outside(name: "MartletSQLite", dependencies: ["MartletEngine", "MartletSemantics", "CSQLite"]),

    .outside(name: "MartletCombine"),
    .outside(name: "MartletCombineFoundation", dependencies: ["MartletCombine"]),

    // The core product.
    .target(
      name: "Martlet",
      dependencies: [
        "MartletEngine", "MartletSemantics",
        .target(name: "MartletSockets", condition: .when(platforms: [.linux])),
        .target(name: "MartletURLSession", condition: .when(platforms: [.macOS, .iOS, .tvOS, .watchOS, .visionOS])),
      ]),

    // APIs.
    .outside(
      name: "SAPFoundation",
      dependencies: [
        "Martlet", "MartletCombine", "MartletEngine", "MartletObservation", "MartletCombineFoundation",
        "MartletSemantics", "MartletSignIn", "MartletSQLite", "MartletURLSession", "MartletWebSocket",
      ]),
    .outside(
      name: "SAPOData", dependencies: ["SAPFoundation", "MartletEngine", "MartletSemantics", "MartletURLSession"]),
    // An API also names the modules that it gets through Martlet's re-exports. SwiftPM compiles it again only when a
    // module that it names has changed.
    .outside(name: "MartletTasks", dependencies: ["Martlet", "MartletCombine", "MartletEngine", "MartletSemantics"]),
    .outside(
      name: "MartletImages",
      dependencies: [
        "Martlet", "MartletCombine", "MartletEngine", "MartletSemantics", "CGIF", "CJPEG", "CLittleCMS", "CPNG",
        "CTurboJPEG", "CWebP", "CWebPDemux", "CZlib",
      ]),
    .outside(name: "MartletServer", dependencies: ["MartletEngine", "MartletSemantics", "MartletWebSocket"]),
    .target(
      name: "MartletInspector",
      dependencies: ["MartletEngine", "MartletObservation", "MartletSemantics", "MartletServer"],
      resources: [
        "page.html", "page.js", "table.js", "details.js", "json.js", "resend.js", "style.css",
      ].map { .embedInCode("Page/\($0)") }, packageAccess: false),

    // Bridges to other packages, each behind its trait.
    .outside(
      name: "MartletHTTPTypes",
      dependencies: [
        "MartletEngine", "MartletSemantics",
        .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["HTTPTypes"])),
      ]),
    .outside(
      name: "MartletOpenAPI",
      dependencies: [
        "MartletHTTPTypes", "MartletEngine", "MartletSemantics",
        .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["OpenAPI"])),
        .product(name: "OpenAPIRuntime", package: "swift-openapi-runtime", condition: .when(traits: ["OpenAPI"])),
      ]),
    .outside(
      name: "MartletLogging",
      dependencies: [
        "MartletEngine", "MartletSemantics",
        .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
      ]),
    .outside(
      name: "MartletMetrics",
      dependencies: [
        "MartletEngine", "MartletObservation", "MartletSemantics",
        .product(name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
      ]),
    .outside(
      name: "MartletTracing",
      dependencies: [
        "MartletEngine", "MartletSemantics",
        .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
      ]),
    .outside(
      name: "MartletServiceLifecycle",
      dependencies: [
        "Martlet", "MartletEngine", "MartletSemantics",
        .product(
          name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["ServiceLifecycle"])),
      ]),

    // Test support.
    .outside(
      name: "MartletTesting",
      dependencies: ["MartletEngine", "MartletObservation", "MartletSemantics", "MartletServer", "MartletWebSocket"]),
    .outside(
      name: "MartletTasksTesting",
      dependencies: ["MartletTasks", "Martlet", "MartletCombine", "MartletEngine", "MartletSemantics"]),
    .outside(name: "SAPFoundationTesting", dependencies: ["MartletTesting", "MartletServer", "MartletSemantics"]),
    .target(name: "TestSupport"),
    .target(name: "CallDoubles", dependencies: ["MartletEngine", "MartletSemantics", "MartletTesting", "TestSupport"]),
    .target(
      name: "TestServers", dependencies: ["MartletTesting", "MartletEngine", "MartletSemantics", "MartletWebSocket"]),
    // All entry points, as a program of a user has them: the test and the program `storm` cancel them.
    .target(
      name: "Storm",
      dependencies: [
        "Martlet", "MartletCombine", "MartletImages", "MartletObservation", "MartletSignIn", "MartletSQLite",
        "MartletTasks", "MartletTesting", "MartletWebSocket", "SAPFoundation",
      ]),
    .testTarget(name: "StormTests", dependencies: ["Storm", "TestSupport", "storm"]),
    .executableTarget(name: "storm", dependencies: ["Storm", "Martlet", "MartletTesting", "TestServers"]),
    .testTarget(
      name: "MartletCombineTests",
      dependencies: ["MartletCombine", "MartletCombineFoundation", "MartletTesting", "TestSupport"]),
    .testTarget(
      name: "MartletCombineFoundationTests",
      dependencies: ["MartletCombineFoundation", "MartletCombine", "MartletTesting", "TestSupport"]),
    .testTarget(name: "MartletSemanticsTests", dependencies: ["MartletSemantics", "TestSupport"]),
    .testTarget(
      name: "MartletEngineTests",
      dependencies: [
        "MartletEngine", "MartletSemantics", "MartletSockets", "MartletTesting", "CallDoubles", "TestServers",
        "TestSupport", .target(name: "CFiles", condition: .when(platforms: [.linux])),
      ]),
    .testTarget(
      name: "MartletSignInTests",
      dependencies: [
        "MartletSignIn", "MartletEngine", "MartletSemantics", "MartletSockets", "MartletTesting", "CallDoubles",
        "TestServers", "TestSupport",
      ]),
    .testTarget(
      name: "MartletWebSocketTests",
      dependencies: [
        "MartletWebSocket", "MartletCombine", "MartletEngine", "MartletObservation", "MartletSemantics",
        "MartletSockets", "MartletTesting", "TestServers", "TestSupport",
      ]),
    .testTarget(
      name: "MartletObservationTests",
      dependencies: ["MartletObservation", "MartletEngine", "MartletSemantics", "MartletTesting", "TestSupport"]),
    .testTarget(
      name: "MartletSocketsTests",
      dependencies: [
        "MartletSockets", "MartletEngine", "MartletSemantics", "MartletTesting", "TestServers", "TestSupport",
        "sockets-program",
      ]),
    .executableTarget(
      name: "sockets-program",
      dependencies: [
        "MartletSockets", "MartletEngine", "MartletSemantics", "CallDoubles",
        .target(name: "CCrypto", condition: .when(platforms: [.linux])),
      ]),
    .testTarget(
      name: "MartletTransportTests",
      dependencies: [
        "MartletSockets", "MartletURLSession", "MartletEngine", "MartletObservation", "MartletSemantics",
        "MartletTesting", "CallDoubles", "TestServers", "TestSupport",
      ],
      exclude: ["Messages/messages.json", "Messages/server.py", "Differential/python_clients.py", "URLs/urls.json"]),
    .testTarget(
      name: "MartletTestingTests",
      dependencies: [
        "Martlet", "MartletTesting", "MartletEngine", "MartletObservation", "MartletSemantics", "MartletServer",
        "MartletWebSocket", "TestSupport",
      ]),
    .testTarget(
      name: "SAPFoundationTests",
      dependencies: [
        "SAPFoundation", "Martlet", "MartletCombine", "MartletEngine", "MartletSemantics", "MartletSQLite",
        "MartletURLSession", "MartletWebSocket", "MartletTesting", "SAPFoundationTesting", "TestServers", "TestSupport",
        "sap-program",
      ]),
    .executableTarget(name: "sap-program", dependencies: ["SAPFoundation"]),
    .testTarget(
      name: "SAPODataTests",
      dependencies: [
        "SAPOData", "SAPFoundation", "MartletEngine", "MartletSemantics", "MartletTesting", "SAPFoundationTesting",
        "TestSupport",
      ]),
    .testTarget(
      name: "MartletTasksTests",
      dependencies: [
        "MartletTasks", "MartletTasksTesting", "Martlet", "MartletEngine", "MartletObservation", "MartletSemantics",
        "MartletTesting", "TestSupport",
      ],
      resources: [.copy("Fixtures")]),
    .testTarget(
      name: "MartletInspectorTests",
      dependencies: [
        "MartletInspector", "MartletEngine", "MartletObservation", "MartletSemantics", "MartletSockets",
        "MartletTesting", "TestSupport",
      ]),
    .executableTarget(
      name: "inspector-program",
      dependencies: [
        "MartletInspector", "Martlet", "MartletEngine", "MartletObservation", "MartletSemantics", "MartletTesting",
        "MartletWebSocket",
      ]),
    .testTarget(
      name: "MartletSQLiteTests",
      dependencies: [
        "MartletSQLite", "MartletEngine", "MartletSemantics", "MartletTesting", "TestSupport", "CSQLite",
        "sqlite-writer",
      ],
      exclude: ["Fixtures"]),
    .executableTarget(
      name: "sqlite-writer", dependencies: ["MartletSQLite", "MartletEngine", "MartletSemantics", "CallDoubles"]),
    .testTarget(
      name: "MartletImagesTests",
      dependencies: [
        "MartletImages", "Martlet", "MartletCombine", "MartletEngine", "MartletSemantics", "MartletTesting",
        "SAPFoundationTesting", "TestSupport",
      ],
      exclude: ["Fixtures"]),
  ],
  swiftLanguageModes: [.v6]
)

// Above the engine, for Linux: Kerberos tickets, and the stores of a fleet of processes, which have CSRF tokens, too.
#if os(Linux)
package.products += [
  .library(name: "MartletKerberos", targets: ["MartletKerberos"]),
  .library(name: "MartletRedis", targets: ["MartletRedis"]),
]
package.targets += [
  // without pkg-config, because SwiftPM refuses its flags with a warning: the headers are in the system's folder
  .systemLibrary(name: "CGSSAPI", providers: [.apt(["libkrb5-dev"])]),
  .outside(name: "MartletKerberos", dependencies: ["MartletEngine", "MartletSemantics", "CGSSAPI"]),
  .testTarget(
    name: "MartletKerberosTests",
    dependencies: [
      "MartletKerberos", "MartletEngine", "MartletSemantics", "MartletSockets", "MartletTesting", "TestSupport",
      "CGSSAPI",
    ]),
  .outside(
    name: "MartletRedis",
    dependencies: ["MartletEngine", "MartletSemantics", "MartletSignIn", "CSockets"]),
  .testTarget(
    name: "MartletRedisTests",
    dependencies: ["MartletRedis", "MartletEngine", "MartletSemantics", "MartletTesting", "TestSupport"]),
]
#endif

// Above the APIs: the command-line tool, for Linux. All of it except the entry point is a library, so that tests run it
// in their process. A module cannot be called martlet on file systems that do not distinguish it from Martlet.
#if os(Linux)
// martlet-plain is the tool without --image, and so without the libraries of the image formats.
package.products += [
  .executable(name: "martlet", targets: ["martlet-tool"]),
  .executable(name: "martlet-plain", targets: ["martlet-plain-tool"]),
]
package.targets += [
  .outside(
    name: "MartletCommandLine",
    dependencies: [
      "MartletEngine", "MartletInspector", "MartletObservation", "MartletSQLite", "MartletSemantics", "MartletServer",
      "MartletSignIn", "MartletSockets", "MartletTesting", "MartletWebSocket",
    ]),
  .outside(
    name: "MartletToolImages",
    dependencies: ["MartletCommandLine", "MartletEngine", "MartletImages", "MartletSemantics"]),
  .executableTarget(
    name: "martlet-tool", dependencies: ["MartletCommandLine", "MartletToolImages"], packageAccess: false),
  .executableTarget(name: "martlet-plain-tool", dependencies: ["MartletCommandLine"], packageAccess: false),
  .testTarget(
    name: "MartletCommandLineTests",
    dependencies: [
      "MartletCommandLine", "MartletEngine", "MartletImages", "MartletInspector", "MartletObservation",
      "MartletSemantics", "MartletSockets", "MartletTesting", "MartletToolImages", "MartletWebSocket", "TestServers",
      "TestSupport", "martlet-plain-tool", "martlet-tool",
    ]),
]
#endif

// Each module has a folder of its own name in its family: `ls` is the map of ARCHITECTURE.md. Its kind says in which.
let families = [
  "Client": [
    "CBrotli", "CCrypto", "CFiles", "CIDN2", "CNGHTTP2", "COpenSSL", "CPSL", "CSockets", "CZlib", "CZstd", "Martlet",
    "MartletEngine", "MartletEngineTests", "MartletObservationTests", "MartletSemantics", "MartletSemanticsTests",
    "MartletSignInTests", "MartletSockets", "MartletSocketsTests", "MartletTestingTests", "MartletTransportTests",
    "MartletURLSession", "MartletWebSocketTests", "sockets-program",
  ],
  "Publishers": ["MartletCombine", "MartletCombineFoundation", "MartletCombineFoundationTests", "MartletCombineTests"],
  "Stores": ["CSQLite", "MartletRedis", "MartletRedisTests", "MartletSQLite", "MartletSQLiteTests", "sqlite-writer"],
  "Kerberos": ["CGSSAPI", "MartletKerberos", "MartletKerberosTests"],
  "Tasks": ["MartletTasks", "MartletTasksTesting", "MartletTasksTests"],
  "Images": [
    "CGIF", "CJPEG", "CLittleCMS", "CPNG", "CTurboJPEG", "CWebP", "CWebPDemux", "MartletImages", "MartletImagesTests",
  ],
  "Inspector": ["MartletInspector", "MartletInspectorTests", "inspector-program"],
  "SAP": ["SAPFoundation", "SAPFoundationTesting", "SAPFoundationTests", "SAPOData", "SAPODataTests", "sap-program"],
  "Bridges": [
    "MartletHTTPTypes", "MartletLogging", "MartletMetrics", "MartletOpenAPI", "MartletServiceLifecycle",
    "MartletTracing",
  ],
  "Tests/Storm": ["Storm", "StormTests", "storm"],
]
let folders: [Target.TargetType: String] = [.system: "Sources/System", .test: "Tests", .executable: "Programs"]
for (family, modules) in families {
  for target in package.targets where modules.contains(target.name) {
    target.path = "\(family)/\(folders[target.type] ?? "Sources")/\(target.name)"
  }
}
let elsewhere = [
  "Client/Extensions": ["MartletObservation", "MartletServer", "MartletSignIn", "MartletTesting", "MartletWebSocket"],
  "Client/Support": ["CallDoubles", "TestServers", "TestSupport"],
  "Tool/Sources": ["MartletCommandLine", "MartletToolImages", "martlet-plain-tool", "martlet-tool"],
  "Tool/Tests": ["MartletCommandLineTests"],
]
for (folder, modules) in elsewhere {
  for target in package.targets where modules.contains(target.name) { target.path = folder + "/" + target.name }
}

for target in package.targets where target.type != .system {
  target.swiftSettings = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"].map {
    .enableUpcomingFeature($0)
  }
  // Async functions stay on their caller's actor unless `@concurrent`; tests are compiled like most users' programs.
  if target.type != .test { target.swiftSettings?.append(.enableUpcomingFeature("NonisolatedNonsendingByDefault")) }
}
