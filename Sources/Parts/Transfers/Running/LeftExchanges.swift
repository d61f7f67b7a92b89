import Clock
import Mounts
import NightshiftAPI
import Store

/// The abandoned exchanges. Their file systems did not respond when the tasks had to stop; they end when the file systems
/// respond.
struct LeftExchanges {
    struct Exchange {
        let task: TaskID
        let place: FileSystemKey
        /// The positions of the exchange's connections that have not ended.
        var positions: [ByteMeter]
        /// The files to close when the last connection has ended.
        var files: Set<Int32>
        /// The files of an upload.
        var sources: UploadFiles?

        /// Takes the exchange of a transfer; nil if the transfer has no exchange on another file system.
        init?(_ transfer: ActiveTransfer) {
            // A file that is being synced or truncated has no exchange to abandon.
            guard let place = transfer.place, transfer.run.phase == .exchanging else { return nil }
            self.place = place
            task = transfer.record.id
            files = []
            switch transfer.exchange {
            case .starting: return nil
            case .download(let receiver, _): positions = [receiver.position]
            case .segments(let segments):
                segments.look.cancel()
                positions = segments.connections.values.map(\.position)
                files = [segments.descriptor]
            case .upload(let receiver, _, let sources):
                positions = [receiver.sent]
                self.sources = sources
            }
        }
    }

    private var exchanges: [Exchange] = []

    var count: Int { exchanges.count }

    /// Returns whether an abandoned exchange may still write bytes for a task.
    func contains(_ task: TaskID) -> Bool { exchanges.contains { $0.task == task } }

    /// Adds an exchange.
    ///
    /// - Returns: the exchange if its last connection has already ended, so that its files can be closed.
    mutating func add(_ exchange: Exchange) -> Exchange? {
        if exchange.positions.isEmpty { return exchange }
        exchanges.append(exchange)
        return nil
    }

    /// Records the end of a connection.
    ///
    /// - Parameter files: further files to close.
    /// - Returns: the exchange if this was its last connection.
    mutating func ended(_ position: ByteMeter, _ files: [Int32] = []) -> Exchange? {
        guard let index = exchanges.firstIndex(where: { $0.positions.contains { $0 === position } }) else { return nil }
        exchanges[index].positions.removeAll { $0 === position }
        exchanges[index].files.formUnion(files)
        return exchanges[index].positions.isEmpty ? exchanges.remove(at: index) : nil
    }
}
