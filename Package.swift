// swift-tools-version: 6.3
import PackageDescription

// This package is what a user of the URL gets: all modules, family by family, and no tests. Each family's own package
// declares its modules again, with their tests; `scripts/families` compares the two. The scripts set the variable: with
// the families' name of the package, a module is compiled once for both.
let familyFlags = Context.environment["MARTLET_FAMILIES"] != nil

let settings: [SwiftSetting] = [
  "ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility", "NonisolatedNonsendingByDefault",
].map { .enableUpcomingFeature($0) }

extension Target {
  /// A module of the client.
  static func inside(name: String, dependencies: [Dependency] = []) -> Target {
    .target(
      name: name, dependencies: dependencies, packageAccess: !familyFlags,
      swiftSettings: settings + (familyFlags ? [.unsafeFlags(["-package-name", "martlet"])] : []))
  }

  /// A module outside of the client, which sees none of its `package` declarations.
  static func outside(name: String, dependencies: [Dependency] = [], resources: [Resource] = []) -> Target {
    .target(
      name: name, dependencies: dependencies, resources: resources, packageAccess: false, swiftSettings: settings)
  }

  static func program(name: String, dependencies: [Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, packageAccess: false, swiftSettings: settings)
  }

  static func library(_ name: String, _ pkgConfig: String? = nil, _ package: String? = nil) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: package.map { [.apt([$0])] })
  }
}

func linux(_ modules: String...) -> [Target.Dependency] {
  modules.map { .target(name: $0, condition: .when(platforms: [.linux])) }
}

func foreign(_ product: String, _ package: String, trait: String) -> Target.Dependency {
  .product(name: product, package: package, condition: .when(traits: [trait]))
}

let package = Package(
  name: "Martlet",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    "Martlet", "MartletEngine", "MartletSemantics", "MartletObservation", "MartletInspector", "MartletSignIn",
    "MartletSignatures", "MartletWebSocket", "MartletSockets",
    "MartletURLSession", "MartletCombine", "MartletCombineFoundation", "SAPFoundation", "SAPFioriFlows", "SAPCommon",
    "SAPOData", "MartletSQLite",
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
  swiftLanguageModes: [.v6]
)

extension Package {
  /// Adds the modules of a family. Each is in the folder of its name.
  func add(_ folder: String, _ modules: [Target]) {
    for module in modules { module.path = folder + (module.type == .system ? "/System/" : "/") + module.name }
    targets += modules
  }
}

// A target imports only modules of its family, and those that it names. `scripts/check` builds with the explicit import
// check, so that a missing one is an error. A module also names those that it gets through Martlet's re-exports: SwiftPM
// compiles it again only when a module that it names has changed.
package.add(
  "Client/Sources",
  [
    .inside(name: "MartletSemantics", dependencies: linux("CIDN2")),
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
    .library("CSockets"), .library("CFiles"), .library("CCrypto", "libcrypto", "libssl-dev"),
    .library("COpenSSL", "openssl", "libssl-dev"), .library("CNGHTTP2", "libnghttp2", "libnghttp2-dev"),
    .library("CIDN2", "libidn2", "libidn2-dev"), .library("CPSL", "libpsl", "libpsl-dev"),
    .library("CZlib", "zlib", "zlib1g-dev"), .library("CBrotli", "libbrotlidec", "libbrotli-dev"),
    .library("CZstd", "libzstd", "libzstd-dev"),
  ])
package.add(
  "Client/Extensions",
  [
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
  ])
package.add(
  "Publishers/Sources",
  [
    .outside(name: "MartletCombine"), .outside(name: "MartletCombineFoundation", dependencies: ["MartletCombine"]),
  ])
package.add(
  "Stores/Sources",
  [
    .library("CSQLite", "sqlite3", "libsqlite3-dev"),
    .outside(name: "MartletSQLite", dependencies: ["CSQLite", "MartletSemantics", "MartletEngine"]),
  ])
package.add(
  "Tasks/Sources",
  [
    .outside(name: "MartletTasks", dependencies: ["MartletSemantics", "MartletEngine", "Martlet", "MartletCombine"]),
    .outside(
      name: "MartletTasksTesting",
      dependencies: ["MartletTasks", "MartletSemantics", "MartletEngine", "Martlet", "MartletCombine"]),
  ])
package.add(
  "Images/Sources",
  [
    .outside(
      name: "MartletImages",
      dependencies: [
        "CGIF", "CJPEG", "CLittleCMS", "CPNG", "CTurboJPEG", "CWebP", "CWebPDemux", "CZlib", "MartletSemantics",
        "MartletEngine", "Martlet", "MartletCombine",
      ]),
    .library("CJPEG", "libjpeg", "libjpeg-dev"), .library("CTurboJPEG", "libturbojpeg", "libturbojpeg0-dev"),
    .library("CPNG", "libpng", "libpng-dev"), .library("CWebP", "libwebp", "libwebp-dev"),
    .library("CWebPDemux", "libwebpdemux", "libwebp-dev"), .library("CGIF", "libgif", "libgif-dev"),
    .library("CLittleCMS", "lcms2", "liblcms2-dev"),
  ])
package.add(
  "Inspector/Sources",
  [
    .outside(
      name: "MartletInspector",
      dependencies: ["MartletSemantics", "MartletEngine", "MartletObservation", "MartletServer"],
      resources: [
        "page.html", "page.js", "table.js", "details.js", "json.js", "resend.js", "style.css",
      ].map { .embedInCode("Page/\($0)") })
  ])
package.add(
  "SAP/Sources",
  [
    .outside(
      name: "SAPFoundation",
      dependencies: [
        "MartletSemantics", "MartletEngine", "MartletURLSession", "Martlet", "MartletObservation", "MartletSignIn",
        "MartletWebSocket", "MartletCombine", "MartletCombineFoundation", "MartletSQLite",
      ]),
    .outside(name: "SAPCommon", dependencies: ["SAPFoundation"]),
    .outside(
      name: "SAPFioriFlows", dependencies: ["SAPFoundation", "MartletSemantics", "MartletEngine", "MartletURLSession"]),
    .outside(
      name: "SAPOData", dependencies: ["SAPFoundation", "MartletSemantics", "MartletEngine", "MartletURLSession"]),
    .outside(name: "SAPFoundationTesting", dependencies: ["MartletSemantics", "MartletServer", "MartletTesting"]),
  ])
package.add(
  "Bridges/Sources",
  [
    .outside(
      name: "MartletHTTPTypes",
      dependencies: [
        "MartletEngine", "MartletSemantics", foreign("HTTPTypes", "swift-http-types", trait: "HTTPTypes"),
      ]),
    .outside(
      name: "MartletOpenAPI",
      dependencies: [
        "MartletHTTPTypes", "MartletEngine", "MartletSemantics",
        foreign("HTTPTypes", "swift-http-types", trait: "OpenAPI"),
        foreign("OpenAPIRuntime", "swift-openapi-runtime", trait: "OpenAPI"),
      ]),
    .outside(
      name: "MartletLogging",
      dependencies: ["MartletEngine", "MartletSemantics", foreign("Logging", "swift-log", trait: "Logging")]),
    .outside(
      name: "MartletMetrics",
      dependencies: [
        "MartletEngine", "MartletObservation", "MartletSemantics",
        foreign("CoreMetrics", "swift-metrics", trait: "Metrics"),
      ]),
    .outside(
      name: "MartletTracing",
      dependencies: [
        "MartletEngine", "MartletSemantics", foreign("Tracing", "swift-distributed-tracing", trait: "Tracing"),
      ]),
    .outside(
      name: "MartletServiceLifecycle",
      dependencies: [
        "Martlet", "MartletEngine", "MartletSemantics",
        foreign("ServiceLifecycle", "swift-service-lifecycle", trait: "ServiceLifecycle"),
      ]),
  ])

// What only Linux has: Kerberos tickets, the stores of a fleet of processes, and the command-line tool.
#if os(Linux)
package.products += [
  .library(name: "MartletKerberos", targets: ["MartletKerberos"]),
  .library(name: "MartletRedis", targets: ["MartletRedis"]),
  // martlet-plain is the tool without --image, and so without the libraries of the image formats.
  .executable(name: "martlet", targets: ["martlet-tool"]),
  .executable(name: "martlet-plain", targets: ["martlet-plain-tool"]),
]
package.add(
  "Kerberos/Sources",
  [
    // Without pkg-config, because SwiftPM refuses its flags with a warning: the headers are in the system's folder.
    .library("CGSSAPI", nil, "libkrb5-dev"),
    .outside(name: "MartletKerberos", dependencies: ["CGSSAPI", "MartletSemantics", "MartletEngine"]),
  ])
package.add(
  "Stores/Sources",
  [
    .outside(
      name: "MartletRedis", dependencies: ["CSockets", "MartletSemantics", "MartletEngine", "MartletSignIn"])
  ])
// A module cannot be called martlet on file systems that do not distinguish it from Martlet.
package.add(
  "Tool/Sources",
  [
    .outside(
      name: "MartletCommandLine",
      dependencies: [
        "MartletSemantics", "MartletEngine", "MartletSockets", "MartletObservation", "MartletSignIn",
        "MartletSignatures", "MartletWebSocket", "MartletServer", "MartletTesting", "MartletSQLite", "MartletInspector",
      ]),
    .outside(
      name: "MartletToolImages",
      dependencies: ["MartletCommandLine", "MartletSemantics", "MartletEngine", "MartletImages"]),
    .program(name: "martlet-tool", dependencies: ["MartletCommandLine", "MartletToolImages"]),
    .program(name: "martlet-plain-tool", dependencies: ["MartletCommandLine"]),
  ])
#endif
