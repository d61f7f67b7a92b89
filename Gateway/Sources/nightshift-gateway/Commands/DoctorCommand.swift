import ArgumentParser
import Foundation
import PushGateway
import PushStore

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks for problems that prevent the gateway from working.")

    @OptionGroup var places: PlaceOptions
    @OptionGroup var shared: StoreOptions

    @Option(help: "The PEM file of the gateway's certificate chain.")
    var certificate: String?

    @Option(help: "The certificate's key.")
    var key: String?

    @Option(help: "The folder of the database.")
    var state: String?

    func run() async throws {
        var findings: [GatewayFinding] = []
        if let certificate, let key { findings += GatewayChecks.certificate(certificate, key: key) }
        if shared.store == nil {
            findings += await GatewayChecks.database(
                state ?? PlaceOptions.variable("STATE_DIRECTORY") ?? PlaceOptions.defaultState)
        } else {
            findings.append(await sharedStore())
        }
        findings.append(gateway())
        for finding in findings { print("\(finding.isGood ? "ok  " : "BAD ") \(finding.text)") }
        if findings.contains(where: { !$0.isGood }) { throw ExitCode.failure }
    }

    private func sharedStore() async -> GatewayFinding {
        do {
            try shared.check()
            guard let store = try await shared.open(logLimit: nil) else {
                return GatewayFinding(isGood: false, text: "The store is missing.")
            }
            let damage = try await store.check()
            try await store.close()
            return GatewayFinding(isGood: damage == nil, text: damage ?? "The store on NATS is intact.")
        } catch {
            return GatewayFinding(isGood: false, text: "\(error)")
        }
    }

    private func gateway() -> GatewayFinding {
        let path = places.socketPath(state: state)
        var finding = GatewayFinding(isGood: false, text: "The gateway at \(path) did not answer.")
        do {
            try AdministrationClient(path: path).ask(.status) { reply in
                switch reply {
                case .status(let status):
                    let text = "The gateway answers: \(status.deviceConnections) devices are connected."
                    finding = GatewayFinding(isGood: true, text: text)
                case .failed(let reason): finding.text = reason
                default: break
                }
                return false
            }
        } catch {
            finding.text = "\(error)"
        }
        return finding
    }
}
