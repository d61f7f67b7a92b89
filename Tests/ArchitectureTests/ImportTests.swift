import Foundation
import Testing

/// `docs/architecture.md` says who may import whom; sources and manifest are held to it.
@Suite struct ImportTests {
    let tree: SourceTree
    let table: ImportTable
    let manifest: Manifest

    init() throws {
        tree = .current
        table = ImportTable(markdown: try tree.text("docs/architecture.md"))
        manifest = Manifest(try tree.text("Package.swift"))
    }

    @Test func `The table, the manifest and the folders name the same targets`() throws {
        let folders = Set(try tree.folders(in: "Sources"))
        #expect(Set(table.rows.map(\.target)) == folders)
        #expect(table.rows.count == folders.count)
        #expect(Set(manifest.targets.filter { $0.path == nil && !$0.name.hasSuffix("Tests") }.map(\.name)) == folders)
    }

    @Test func `Targets may import lower layers only`() {
        #expect(table.misdirected == [])
    }

    @Test func `Files import what the table allows`() throws {
        for target in try tree.folders(in: "Sources") {
            for (path, source) in SourceTree.sources(below: "Sources/\(target)") {
                #expect(table.forbidden(source.imports, in: target) == [], "\(path)")
                #expect(!source.importsTestably, "\(path) imports something @testable")
            }
        }
    }

    @Test func `The manifest gives targets no more than the table allows`() throws {
        for target in manifest.targets where table.row(of: target.name) != nil {
            #expect(table.forbidden(target.dependencies, in: target.name) == [], "\(target.name)")
        }
    }

    @Test func `Files import nothing that only another package's package brings along`() {
        for target in manifest.targets where table.row(of: target.name) != nil {
            let declared = target.dependencies.union(ImportTable.free).union(ImportTable.system)
            for (path, source) in SourceTree.sources(below: "Sources/\(target.name)") {
                #expect(Set(source.imports).subtracting(declared) == [], "\(path)")
            }
        }
    }

    @Test func `Clients link no server, no database and no second HTTP stack`() {
        let library = [
            "Nightshift", "NightshiftUIKit", "NightshiftBackgroundTasks", "NightshiftCoreLocation",
            "NightshiftUserNotifications",
        ]
        for client in ["CLI", "NightshiftClient", "NightshiftCurl", "NightshiftAPI"] + library {
            // What apps link is made of FoundationNetworking's classes.
            let own: Set = library.contains(client) ? ["FoundationNetworking"] : []
            let linked = table.linked(by: client).subtracting(own)
            let serverSide = linked.filter { name in
                ["NIO", "GRDB", "Hummingbird", "AsyncHTTPClient", "FoundationNetworking"].contains {
                    name.hasPrefix($0)
                }
            }
            #expect(serverSide == [], "\(client)")
        }
    }

    @Test func `An app resolves no other package: each product of one belongs to the service's trait`() throws {
        let text = try tree.text("Package.swift")
        // The function `service` has the only one.
        #expect(text.matches(of: /\.product\(/).count == 1)
        #expect(text.contains(/\.product\([^)]*condition: \.when\(traits: \["Service"\]\)\)/))
    }

    @Test func `Nothing but what apps link imports FoundationNetworking`() {
        #expect(!SourceTree.sources.isEmpty)
        let linked = ["Sources/Nightshift/", "Sources/FoundationSessions/"]
        for (path, source) in SourceTree.sources where !linked.contains(where: path.hasPrefix) {
            #expect(!source.imports.contains("FoundationNetworking"), "\(path)")
        }
    }

    @Test func `C stands in the shims only`() throws {
        let files = try tree.files(below: "Sources", extensions: ["c", "h", "cpp", "m", "S"])
        #expect(!files.isEmpty)
        let shims = [
            "Sources/CNightshift/", "Sources/CDigest/", "Sources/CTLS/", "Sources/CSystemd/", "Sources/COpenAPI/",
            "Sources/CDesktop/", "Sources/CPage/",
        ]
        #expect(files.filter { !shims.contains(where: $0.hasPrefix) } == [])
    }
}
