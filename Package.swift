// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .treatAllWarnings(as: .error),
]

/// A library that the service and its programs are built from. Apps leave the trait off, and resolve none of these packages.
func service(_ name: String, _ package: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: ["Service"]))
}

let argumentParser = service("ArgumentParser", "swift-argument-parser")
let configuration = service("Configuration", "swift-configuration")
let grdb = service("GRDB", "GRDB.swift")
let httpTypes = service("HTTPTypes", "swift-http-types")
let hummingbird = service("Hummingbird", "hummingbird")
let hummingbirdCore = service("HummingbirdCore", "hummingbird")
let logging = service("Logging", "swift-log")
let nioCore = service("NIOCore", "swift-nio")
let nioHTTP1 = service("NIOHTTP1", "swift-nio")
let nioHTTPTypes = service("NIOHTTPTypes", "swift-nio-extras")
let nioHTTPTypesHTTP1 = service("NIOHTTPTypesHTTP1", "swift-nio-extras")
let nioWebSocket = service("NIOWebSocket", "swift-nio")
let nioPosix = service("NIOPosix", "swift-nio")
let nioResumableUpload = service("NIOResumableUpload", "swift-nio-extras")
let rawFields = service("RawStructuredFieldValues", "swift-http-structured-headers")
let serviceLifecycle = service("ServiceLifecycle", "swift-service-lifecycle")
let systemPackage = service("SystemPackage", "swift-system")

let package = Package(
    name: "nightshift",
    products: [
        .executable(name: "nightshiftd", targets: ["nightshiftd"]),
        .executable(name: "nightshift", targets: ["nightshift"]),
        .library(name: "Nightshift", targets: ["Nightshift"]),
        .library(name: "NightshiftUIKit", targets: ["NightshiftUIKit"]),
        .library(name: "NightshiftBackgroundTasks", targets: ["NightshiftBackgroundTasks"]),
        .library(name: "NightshiftCoreLocation", targets: ["NightshiftCoreLocation"]),
        .library(name: "NightshiftUserNotifications", targets: ["NightshiftUserNotifications"]),
    ],
    // Off by default: for an app this package is the library alone (docs/decisions/0062). `make` switches it on.
    traits: [.trait(name: "Service", description: "The service, the command line and their tests.")],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // L0: words and shims.
        .target(name: "NightshiftAPI", swiftSettings: strict),
        .target(name: "FoundationSessions", swiftSettings: strict),
        .target(name: "CNightshift", linkerSettings: [.linkedLibrary("curl"), .linkedLibrary("z")]),
        .target(name: "COpenAPI", exclude: ["openapi.json"]),
        .target(name: "CDesktop", linkerSettings: [.linkedLibrary("dl")]),
        .target(name: "CPage", exclude: ["Resources"]),
        .target(name: "PushProtocol", swiftSettings: strict),
        .target(name: "Manual", swiftSettings: strict),
        .target(name: "ServiceLog", dependencies: [logging], swiftSettings: strict),
        .target(name: "GroupCommits", dependencies: [grdb], swiftSettings: strict),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
        .target(name: "CDigest", linkerSettings: [.linkedLibrary("crypto")]),
        .target(name: "CTLS", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),

        // L1: threads, and the window of transfers that yield.
        .target(name: "Yielding", dependencies: ["NightshiftAPI"], swiftSettings: strict),
        .target(name: "Executors", dependencies: ["NightshiftAPI", "CNightshift"], swiftSettings: strict),

        // L2: parts that know nothing of each other.
        .target(
            name: "Store", dependencies: ["NightshiftAPI", "Executors", "GroupCommits", grdb], swiftSettings: strict),
        .target(name: "Clock", dependencies: ["NightshiftAPI", "CNightshift", "Executors"], swiftSettings: strict),
        .target(
            name: "Device", dependencies: ["NightshiftAPI", "CNightshift", "CSystemd", "CDesktop"],
            swiftSettings: strict),
        .target(name: "Scheduler", dependencies: ["NightshiftAPI"], swiftSettings: strict),
        .target(name: "Mounts", dependencies: ["NightshiftAPI", "CNightshift", "Executors"], swiftSettings: strict),
        .target(
            name: "NightshiftCurl", dependencies: ["NightshiftAPI", "CNightshift", "Executors", "Yielding"],
            swiftSettings: strict),
        .target(
            name: "HTTPServing",
            dependencies: ["NightshiftAPI", hummingbirdCore, logging, nioCore, nioHTTPTypes, nioPosix],
            swiftSettings: strict),

        // L3: what Nightshift does.
        .target(
            name: "NightshiftClient", dependencies: ["NightshiftAPI", "NightshiftCurl", "CNightshift"],
            swiftSettings: strict),
        .target(name: "Sessions", dependencies: ["NightshiftAPI", "Store"], swiftSettings: strict),
        .target(
            name: "Apps",
            dependencies: [
                "NightshiftAPI", "CNightshift", "Executors", "Clock", "Mounts", "Runtime", "Store", logging,
            ],
            swiftSettings: strict),
        .target(
            name: "Runtime", dependencies: ["NightshiftAPI", "Clock", "Store", logging], swiftSettings: strict),

        // L4: transfers, for which sessions stand below, and what keeps a book.
        .target(
            name: "Transfers",
            dependencies: [
                "NightshiftAPI", "CNightshift", "CDigest", "Executors", "Clock", "Mounts", "Store",
                "Scheduler",
                "Sessions",
                logging, rawFields,
            ],
            swiftSettings: strict),
        .target(
            name: "Refresh", dependencies: ["NightshiftAPI", "Runtime", "Clock", "Store", "Scheduler", logging],
            swiftSettings: strict),
        .target(
            name: "Location", dependencies: ["NightshiftAPI", "Runtime", "Clock", "Store", "Scheduler", logging],
            swiftSettings: strict),
        .target(
            name: "Push",
            dependencies: [
                "NightshiftAPI", "PushProtocol", "CDigest", "Runtime", "Clock", "Store", "Device", "NightshiftCurl",
                logging,
            ],
            swiftSettings: strict),
        .target(
            name: "Notifications", dependencies: ["NightshiftAPI", "Runtime", "Clock", "Store", "Device", logging],
            swiftSettings: strict),

        // L5: what joins these.
        .target(
            name: "Operations",
            dependencies: [
                "NightshiftAPI", "Clock", "Runtime", "Store", "Device", "NightshiftCurl", "Sessions", "Transfers",
                "Apps",
                "Refresh", "Location", "Notifications", "Push", logging,
            ],
            swiftSettings: strict),

        // L5, and L6 above what joins: how it meets the world.
        .target(
            name: "HTTPTransport",
            dependencies: [
                "NightshiftAPI", "Mounts", "Transfers", "NightshiftCurl", "CNightshift", "CTLS",
            ],
            swiftSettings: strict),
        .target(
            name: "LocalAPI",
            dependencies: [
                "NightshiftAPI", "COpenAPI", "HTTPServing", "Sessions", "Transfers", "Apps", "Refresh", "Location",
                "Push",
                "Operations",
                httpTypes,
                hummingbird, hummingbirdCore, logging, nioCore, nioHTTP1, nioHTTPTypes, nioHTTPTypesHTTP1, nioPosix,
                serviceLifecycle,
            ],
            swiftSettings: strict),

        .target(
            name: "Simulation",
            dependencies: [
                "NightshiftAPI", "Store", "Runtime", "Scheduler", "Transfers", "Apps", "Refresh", "Location",
            ],
            swiftSettings: strict),

        // What apps link. A background configuration cannot be made without the base class's deprecated initialiser.
        .target(
            name: "Nightshift",
            dependencies: ["NightshiftAPI", "Executors", "NightshiftClient", "FoundationSessions", "CNightshift"],
            swiftSettings: strict + [.treatWarning("DeprecatedDeclaration", as: .warning)]),
        .target(name: "NightshiftUIKit", dependencies: ["Nightshift"], swiftSettings: strict),
        .target(name: "NightshiftBackgroundTasks", dependencies: ["Nightshift"], swiftSettings: strict),
        .target(name: "NightshiftCoreLocation", dependencies: ["Nightshift"], swiftSettings: strict),
        .target(name: "NightshiftUserNotifications", dependencies: ["Nightshift"], swiftSettings: strict),

        // L5: clients; L7: composition.
        .target(
            name: "Daemon",
            dependencies: [
                "NightshiftAPI", "CNightshift", "CSystemd", "Clock", "Mounts", "Runtime", "Store", "Device",
                "Scheduler",
                "Transfers", "NightshiftCurl", "Apps", "Refresh", "Location", "Notifications", "Push", "Operations",
                "HTTPTransport",
                "LocalAPI", configuration, "ServiceLog", logging,
                serviceLifecycle, systemPackage,
            ],
            swiftSettings: strict),
        .target(
            name: "CLI",
            dependencies: [
                "NightshiftAPI", "Manual", "NightshiftClient", "NightshiftCurl", "CNightshift", argumentParser,
            ],
            swiftSettings: strict),

        .target(
            name: "Page",
            dependencies: [
                "NightshiftAPI", "NightshiftClient", "NightshiftCurl", "CPage", "HTTPServing", httpTypes,
                hummingbirdCore, logging,
                nioCore, nioPosix,
            ],
            swiftSettings: strict),

        // Programs that speak aria2's protocol.
        .target(
            name: "Aria2Bridge",
            dependencies: [
                "NightshiftAPI", "NightshiftClient", "HTTPServing", "CExpat", "CSystemd", httpTypes, hummingbirdCore,
                logging,
                nioCore, nioHTTP1, nioHTTPTypes, nioHTTPTypesHTTP1, nioPosix, nioWebSocket,
            ],
            swiftSettings: strict),

        // L8: main only.
        .target(
            name: "ServiceCommands",
            dependencies: [
                "NightshiftAPI", "CNightshift", "Executors", "Apps", "Aria2Bridge", "Daemon", "Page", "Simulation",
                argumentParser,
            ],
            swiftSettings: strict),
        // The service alone, which builds faster. An installation has `nightshift` under both names.
        .executableTarget(name: "nightshiftd", dependencies: ["ServiceCommands"], swiftSettings: strict),
        .executableTarget(
            name: "nightshift", dependencies: ["CLI", "CNightshift", "ServiceCommands"], swiftSettings: strict),

        // Examples: apps as anybody would write them, on the public library alone.
        .executableTarget(
            name: "SimpleBackgroundTransfer", dependencies: ["Nightshift"], path: "Examples/SimpleBackgroundTransfer",
            exclude: ["org.example.SimpleBackgroundTransfer.desktop"]),
        .executableTarget(
            name: "DownloadQueue", dependencies: ["Nightshift"], path: "Examples/DownloadQueue",
            exclude: ["org.example.DownloadQueue.desktop"]),

        // Tests: their tools first.
        .target(name: "TestHome", path: "Tests/TestHome"),
        .target(name: "TestSupport", dependencies: ["NightshiftAPI"], path: "Tests/TestSupport", swiftSettings: strict),
        .executableTarget(
            name: "misbehaving-origin", dependencies: ["TestSupport", argumentParser], path: "Tests/MisbehavingOrigin",
            swiftSettings: strict),
        // swift-nio-extras' server of uploads, as a program.
        .executableTarget(
            name: "resumable-upload-server",
            dependencies: [
                "CDigest", argumentParser, httpTypes, nioCore, nioHTTP1, nioHTTPTypes, nioHTTPTypesHTTP1, nioPosix,
                nioResumableUpload,
            ],
            path: "Tests/ResumableUploadServer", swiftSettings: strict),
        .target(name: "Quiescence", path: "Tests/Quiescence"),
        .target(
            name: "SimulationSupport",
            dependencies: [
                "NightshiftAPI", "Clock", "Executors", "Store", "Transfers", "Apps", "Quiescence", "TestSupport",
                logging,
                grdb,
            ],
            path: "Tests/SimulationSupport", swiftSettings: strict),
        // People and what their apps would be fetched for: of the benchmark, which has a manifest of its own for what it starts.
        .target(
            name: "Freshness", dependencies: ["NightshiftAPI", "Scheduler", "TestSupport"],
            path: "Benchmarks/Freshness", swiftSettings: strict),
        .executableTarget(
            name: "freshness-report", dependencies: ["NightshiftAPI", "Freshness", argumentParser],
            path: "Benchmarks/FreshnessProgram", swiftSettings: strict),
        // A commuter and the receiver that is on for his regions: of the benchmark as well.
        .target(
            name: "Receiver", dependencies: ["NightshiftAPI", "Scheduler", "Freshness"], path: "Benchmarks/Receiver",
            swiftSettings: strict),
        .executableTarget(
            name: "receiver-report", dependencies: ["NightshiftAPI", "Receiver", argumentParser],
            path: "Benchmarks/ReceiverProgram", swiftSettings: strict),
        .testTarget(name: "ArchitectureTests", swiftSettings: strict),
        .testTarget(name: "PushProtocolTests", dependencies: ["PushProtocol"], swiftSettings: strict),
        .testTarget(
            name: "TestSupportTests", dependencies: ["NightshiftAPI", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "StoreTests", dependencies: ["NightshiftAPI", "Store", "Scheduler", "TestSupport", grdb],
            swiftSettings: strict),
        .testTarget(
            name: "SchedulerTests",
            dependencies: ["NightshiftAPI", "Scheduler", "Freshness", "Receiver", "TestSupport"],
            swiftSettings: strict),
        .testTarget(name: "YieldingTests", dependencies: ["Yielding", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "RuntimeTests",
            dependencies: ["NightshiftAPI", "Runtime", "Store", "SimulationSupport", "TestSupport", logging],
            swiftSettings: strict),
        .testTarget(name: "ExecutorsTests", dependencies: ["Executors", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "ClockTests", dependencies: ["NightshiftAPI", "Clock", "SimulationSupport", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "DeviceTests", dependencies: ["NightshiftAPI", "Clock", "Device", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "NightshiftCurlTests", dependencies: ["NightshiftCurl", "CNightshift", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "SessionsTests", dependencies: ["NightshiftAPI", "Store", "Sessions", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "TransfersTests",
            dependencies: [
                "NightshiftAPI", "CNightshift", "CDigest", "Clock", "Mounts", "Store", "Scheduler",
                "Sessions",
                "Transfers",
                "SimulationSupport", "TestSupport", logging,
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "process-host-probe", dependencies: ["CNightshift", "NightshiftAPI", "Apps"],
            path: "Tests/ProcessHostProbe",
            swiftSettings: strict),
        .testTarget(
            name: "AppsTests",
            dependencies: [
                "NightshiftAPI", "CNightshift", "CDigest", "Clock", "Runtime", "Store", "Apps", "SimulationSupport",
                "TestSupport",
                "process-host-probe", logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SimulateTests",
            dependencies: [
                "NightshiftAPI", "CNightshift", "CDigest", "Store", "Scheduler", "Apps", "Transfers", "Simulation",
                "TestSupport", "nightshiftd",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HTTPTransportTests",
            dependencies: [
                "NightshiftAPI", "CNightshift", "Clock", "Store", "Sessions", "Transfers", "NightshiftCurl",
                "HTTPTransport", "TestSupport",
                logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "RefreshTests",
            dependencies: [
                "NightshiftAPI", "Clock", "Runtime", "Store", "Scheduler", "Refresh", "SimulationSupport",
                "TestSupport",
                logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "LocationTests",
            dependencies: [
                "NightshiftAPI", "Clock", "Runtime", "Store", "Scheduler", "Location", "SimulationSupport",
                "TestSupport",
                logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PushTests",
            dependencies: [
                "NightshiftAPI", "PushProtocol", "CDigest", "Clock", "Runtime", "Store", "Device", "NightshiftCurl",
                "Push",
                "SimulationSupport", "TestSupport", logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "NotificationsTests",
            dependencies: [
                "NightshiftAPI", "Clock", "Store", "Device", "Notifications", "SimulationSupport", "TestSupport",
                logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "OperationsTests",
            dependencies: [
                "NightshiftAPI", "Store", "Device", "NightshiftCurl", "Sessions", "Transfers", "Apps", "Refresh",
                "Location",
                "Notifications", "Push", "Operations",
                "SimulationSupport", "TestSupport", logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "LocalAPITests",
            dependencies: [
                "NightshiftAPI", "NightshiftClient", "Clock", "Device", "Store", "Transfers", "Apps", "Refresh",
                "Location", "Notifications", "Push", "NightshiftCurl", "Operations", "LocalAPI", "SimulationSupport",
                "TestSupport",
                httpTypes, hummingbird, hummingbirdCore, logging, nioCore, nioPosix, serviceLifecycle,
            ],
            exclude: ["schemathesis.sh"],
            swiftSettings: strict),
        .testTarget(
            name: "DaemonTests",
            dependencies: [
                "NightshiftAPI", "NightshiftCurl", "NightshiftClient", "Clock", "Device", "Store", "Scheduler",
                "Transfers", "Apps", "Refresh", "Location", "Operations", "Daemon", "ServiceLog", "SimulationSupport",
                "TestSupport", logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CLITests",
            dependencies: ["NightshiftAPI", "NightshiftClient", "CLI", "TestSupport", "nightshift", argumentParser],
            swiftSettings: strict),
        .testTarget(
            name: "PageTests",
            dependencies: [
                "NightshiftAPI", "NightshiftClient", "NightshiftCurl", "HTTPServing", "Page", "TestSupport",
                "nightshiftd", "nightshift",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "Aria2BridgeTests", dependencies: ["NightshiftAPI", "Aria2Bridge", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "NightshiftTests",
            dependencies: [
                "NightshiftAPI", "NightshiftClient", "Nightshift", "NightshiftUIKit", "TestSupport",
            ],
            swiftSettings: strict + [.treatWarning("DeprecatedDeclaration", as: .warning)]),
        .testTarget(
            name: "ServiceSimulationTests",
            dependencies: [
                "NightshiftAPI", "Clock", "Store", "Scheduler", "Sessions", "Transfers", "Apps", "Simulation",
                "SimulationSupport", "TestSupport",
                logging,
                grdb,
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "app-probe", dependencies: ["Nightshift", "TestSupport"], path: "Tests/AppProbe",
            swiftSettings: strict + [.treatWarning("DeprecatedDeclaration", as: .warning)]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "NightshiftAPI", "NightshiftCurl", "TestSupport", "nightshiftd", "nightshift", "misbehaving-origin",
                "resumable-upload-server", "app-probe", "SimpleBackgroundTransfer", "DownloadQueue",
            ],
            swiftSettings: strict),
    ]
)

// The folders of `Sources/`, and the targets in them. `Simulation` has no group.
let folders = [
    "API": ["NightshiftAPI", "COpenAPI", "PushProtocol"],
    "Core": ["Clock", "Executors", "Runtime", "Store", "GroupCommits", "Scheduler", "Yielding"],
    "Parts": ["Apps", "Location", "Notifications", "Push", "Refresh", "Sessions", "Transfers"],
    "System": [
        "CDesktop", "CDigest", "CExpat", "CNightshift", "CSystemd", "CTLS", "Device", "HTTPServing", "HTTPTransport",
        "Mounts",
        "NightshiftCurl", "ServiceLog",
    ],
    "Service": ["Daemon", "LocalAPI", "Operations", "ServiceCommands", "nightshiftd"],
    "Clients": ["Aria2Bridge", "CLI", "CPage", "Manual", "NightshiftClient", "Page", "nightshift"],
    "Library": [
        "FoundationSessions", "Nightshift", "NightshiftBackgroundTasks", "NightshiftCoreLocation", "NightshiftUIKit",
        "NightshiftUserNotifications",
    ],
]
for (folder, names) in folders {
    for target in package.targets where names.contains(target.name) { target.path = "Sources/\(folder)/\(target.name)" }
}

// Every suite gives its process a home of its own.
for target in package.targets where target.type == .test { target.dependencies.append("TestHome") }

// A build of some suites alone: NIGHTSHIFT_TESTS names their targets, separated by spaces. Without it, all are built.
if let names = Context.environment["NIGHTSHIFT_TESTS"]?.split(separator: " ").map(String.init) {
    package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}
