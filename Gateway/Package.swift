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

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let jwtKit: Target.Dependency = .product(name: "JWTKit", package: "jwt-kit")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioHPACK: Target.Dependency = .product(name: "NIOHPACK", package: "swift-nio-http2")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioHTTP2: Target.Dependency = .product(name: "NIOHTTP2", package: "swift-nio-http2")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let swiftASN1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")

// The gateway's packages (TLS, HTTP/2, JWT, certificates) reach no other program: see docs/decisions/0042.
let package = Package(
    name: "nightshift-gateway",
    products: [.executable(name: "nightshift-gateway", targets: ["nightshift-gateway"])],
    traits: [
        .trait(name: "NATS", description: "Several gateways over one store; needs libnats, to build and to run."),
        .default(enabledTraits: ["NATS"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    ],
    targets: [
        // Links to folders of the main package: one source, compiled into either package. Version.swift is such a link too.
        .target(name: "PushProtocol", swiftSettings: strict),
        .target(name: "Manual", swiftSettings: strict),
        .target(name: "ServiceLog", dependencies: [logging], swiftSettings: strict),
        .target(name: "GroupCommits", dependencies: [grdb], swiftSettings: strict),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .testTarget(name: "PushProtocolTests", dependencies: ["PushProtocol"], swiftSettings: strict),

        .target(name: "PushRouting", dependencies: ["PushProtocol"], swiftSettings: strict),
        .testTarget(
            name: "PushRoutingTests", dependencies: ["PushProtocol", "PushRouting"], swiftSettings: strict),
        .target(
            name: "PushStore", dependencies: ["GroupCommits", "PushProtocol", "PushRouting", grdb],
            swiftSettings: strict),
        .systemLibrary(name: "CNATS", pkgConfig: "libnats", providers: [.apt(["libnats-dev"])]),
        .target(
            name: "PushCluster", dependencies: ["CNATS", "PushProtocol", "PushRouting", "PushStore"],
            swiftSettings: strict),
        .testTarget(
            name: "PushStoreTests", dependencies: ["PushCluster", "PushProtocol", "PushRouting", "PushStore"],
            swiftSettings: strict),
        // glibc's malloc.h, which Swift's module of glibc leaves out.
        .systemLibrary(name: "CMalloc"),
        .target(
            name: "PushGateway",
            dependencies: [
                "CMalloc", "PushProtocol", "PushRouting", "PushStore", crypto, jwtKit, logging, nioCore, nioHPACK,
                nioHTTP1,
                nioHTTP2, nioPosix, nioSSL, swiftASN1, x509,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PushGatewayTests", dependencies: ["PushGateway", "PushRouting", "PushStore", jwtKit],
            swiftSettings: strict),
        .executableTarget(
            name: "nightshift-gateway",
            dependencies: [
                .target(name: "PushCluster", condition: .when(traits: ["NATS"])), "CSystemd", "Manual", "PushGateway",
                "PushRouting", "PushStore", "ServiceLog", argumentParser, logging,
            ], swiftSettings: strict),
        // Plays many devices, for measuring. It is no product: nobody installs it.
        .executableTarget(
            name: "gateway-load",
            dependencies: ["PushGateway", "PushProtocol", argumentParser, crypto, nioCore, nioPosix, nioSSL],
            swiftSettings: strict),
    ]
)
