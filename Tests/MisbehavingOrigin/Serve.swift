import ArgumentParser
import Glibc
import TestSupport

struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serves until SIGTERM, SIGINT or the end of its time, then tells what it did.")

    @Option(help: "The size of the file.")
    var size = ByteCount(300 << 20)

    @Option(help: "Its path.")
    var path = "/film.mkv"

    @Option(help: "The seed of its content.")
    var seed: UInt64 = 1

    @Option(help: "The port; 0 takes a free one.")
    var port: UInt16 = 0

    @Option(help: "Write the port to this file once the origin listens.")
    var portFile: String?

    @Option(help: "Bytes per second of each response.")
    var throttle: ByteCount?

    @Option(help: "Close the connection after so many bytes of each response.")
    var cutEvery: ByteCount?

    @Option(help: "Cut so often only.")
    var cuts: Int?

    @Option(help: "Put another file of the same size, with the next seed, in its place after so many bytes, once.")
    var swapAfter: ByteCount?

    @Option(help: "Answer so many requests with 503 first.")
    var failFirst = 0

    @Option(help: "Also serve this many small files, as /small/0 and so on.")
    var smallFiles = 0

    @Option(help: "The size of each small file.")
    var smallSize = ByteCount(20 << 10)

    @Option(help: "End after so many seconds.")
    var seconds = 600

    @Flag(help: "Print each request as it ends.")
    var log = false

    func run() throws {
        let signals = EndSignals()
        let origin = try OriginServer(port: port, lifetime: .seconds(seconds))
        origin.serve(path, Resource(content: .seeded(size: size.bytes, seed: seed), behaviours: behaviours))
        for number in 0..<smallFiles {
            origin.serve("/small/\(number)", .seeded(size: smallSize.bytes, seed: seed &+ UInt64(number % 8)))
        }
        printLine(origin.url(path))
        if let portFile { try PortFile.publish(origin.port, in: portFile) }

        let end = ContinuousClock.now + .seconds(seconds)
        var told = 0
        while ContinuousClock.now < end {
            let hasCome = signals.wait(log ? .milliseconds(200) : .seconds(seconds))
            if log { told = printNew(origin.requests, from: told) }
            if hasCome { break }
        }
        origin.stop()
        let totals = origin.totals()
        printLine(
            "\(totals.requests) requests on \(origin.connectionCount) connections, \(totals.cuts) cut, "
                + "\(totals.bodyBytesSent) body bytes sent")
    }

    private var behaviours: [Behaviour] {
        var behaviours: [Behaviour] = []
        if failFirst > 0 { behaviours.append(.status(503, retryAfter: .seconds(1)).times(failFirst)) }
        if let throttle { behaviours.append(.throttle(bytesPerSecond: throttle.bytes)) }
        if let cutEvery {
            let cut = Behaviour.cutAfter(cutEvery.bytes)
            behaviours.append(cuts.map { cut.times($0) } ?? cut)
        }
        if let swapAfter {
            let rest = behaviours
            let next = Resource(content: .seeded(size: size.bytes, seed: seed &+ 1), behaviours: rest)
            behaviours.append(.swapDuringTransfer(after: swapAfter.bytes, to: next))
        }
        return behaviours
    }

    /// Prints the requests that have ended, in order. Returns how many it has printed in all.
    private func printNew(_ requests: [OriginRequest], from told: Int) -> Int {
        var told = told
        while told < requests.count, requests[told].isFinished {
            let request = requests[told]
            let range = request.field("Range").map { " (\($0))" } ?? ""
            let status = request.status.map { "\($0)" } ?? "no answer"
            printLine("\(request.method) \(request.target)\(range): \(status), \(request.bodyBytesSent) bytes")
            told += 1
        }
        return told
    }
}
