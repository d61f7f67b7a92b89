import Foundation

/// The options of the command line.
struct Options {
    /// The folder of `nightshift` and `nightshiftd`.
    var binaries = ".build/release"
    /// The folder of `nightshift-gateway` and `gateway-load`.
    var gateway = ".build-gateway-release/release"
    /// The folder of the same programs of an earlier version, to be measured in the same run; nil for none.
    var earlier: String?
    /// The file for the document of a full run; nil for none.
    var output: String?
    /// A folder on a disk, for files that must be written to a disk.
    var disk = FileManager.default.currentDirectoryPath + "/.build-bench"
    /// A folder in memory.
    var memory = "/dev/shm"
    var parts: [Part] = Part.allCases
    var rounds: Int?
    var quick = false
    /// Traces of the use of apps, instead of simulated people.
    var traces: [String] = []

    enum Part: String, CaseIterable {
        case tail
        case cap
        case trip
        case upload
        case throughput
        case small
        case http2
        case backlog
        case latency
        case stop
        case idle
        case apps
        case freshness
        case receiver
        case push
        case yield
    }

    static let usage = """
        Usage: nightshift-bench [--binaries DIR] [--gateway DIR] [--earlier DIR] [--output FILE] [--disk DIR] [--memory DIR]
                                [--only \(Part.allCases.map(\.rawValue).joined(separator: "|"))] [--rounds N] [--quick]
                                [--trace FILE]

        Measures Nightshift's release binaries in DIR (.build/release) against curl, wget2, aria2 and axel on loopback, and those of the
        push gateway in --gateway (.build-gateway-release/release). --earlier also measures the release binaries of another version in
        DIR, in the same rounds. --only (repeatable) runs only some parts. --trace (repeatable) gives the part freshness the use of apps, in
        the format of docs/simulation.md. FILE is not written with any of --earlier, --only, --trace and --quick.
        """

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        var only: [Part] = []
        func value(_ option: String) throws -> String {
            guard let value = rest.popFirst() else { throw BenchError("\(option) needs a value") }
            return value
        }
        while let option = rest.popFirst() {
            switch option {
            case "--binaries": binaries = try value(option)
            case "--gateway": gateway = try value(option)
            case "--earlier": earlier = try value(option)
            case "--output": output = try value(option)
            case "--disk": disk = try value(option)
            case "--memory": memory = try value(option)
            case "--quick": quick = true
            case "--trace": traces.append(try value(option))
            case "--rounds":
                guard let count = Int(try value(option)), count > 0 else { throw BenchError("--rounds needs a number") }
                rounds = count
            case "--only":
                let name = try value(option)
                guard let part = Part(rawValue: name) else { throw BenchError("the part '\(name)' does not exist") }
                only.append(part)
            default: throw BenchError("unknown option '\(option)'\n\(Self.usage)")
            }
        }
        if !only.isEmpty { parts = only }
    }

    /// Whether this run measures everything completely, so that it may replace the document.
    var isWhole: Bool { parts.count == Part.allCases.count && !quick && traces.isEmpty && earlier == nil }
}
