import NightshiftAPI

/// What ModemManager says of a modem's interface `Modem.Location`; nil where it does not say.
struct ModemReading: Equatable, Sendable {
    /// MMModemLocationSource: what it can tell, and what it is set up to tell.
    var capabilities: UInt32?
    var enabled: UInt32?
    /// Whether its changes are announced.
    var signals: Bool?
    /// The text of the source that knows the cell: `MCC,MNC,LAC,CI,TAC`.
    var cell: String?

    /// MM_MODEM_LOCATION_SOURCE_3GPP_LAC_CI.
    static let cells: UInt32 = 1
}

/// The cell that a modem is in, by its identity.
enum CellIdentity {
    /// Nil for what names no cell: the modem is in none, or the text is no identity.
    static func checked(_ text: String) -> String? {
        guard text.utf8.count <= 64 else { return nil }
        let fields = text.split(separator: ",", omittingEmptySubsequences: false)
        // ModemManager before 1.14 has no TAC.
        guard (4...5).contains(fields.count), fields.allSatisfy({ $0.utf8.allSatisfy(isHexadecimal) }),
            let country = Int(fields[0]), country > 0, !fields[1].isEmpty, fields[1].utf8.allSatisfy(isDecimal)
        else { return nil }
        // The cell's own number, and an area that it is in.
        guard let cell = UInt64(fields[3], radix: 16), cell > 0 else { return nil }
        return text.uppercased()
    }

    private static func isDecimal(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        isDecimal(byte) || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}

/// Follows the modems that know their cell, and has them announce it for as long as that is wanted.
///
/// Pure: what the bus says goes in, what to ask of it comes out.
struct ModemWatch: Equatable {
    private struct Modem: Equatable {
        var reading: ModemReading
        /// What it was set up to before this has changed it.
        var former: ModemReading?
        var question: Int?
        var refusal: BusFailure?

        var canTellCells: Bool { (reading.capabilities ?? 0) & ModemReading.cells != 0 }
        var tellsCells: Bool { (reading.enabled ?? 0) & ModemReading.cells != 0 && reading.signals == true }
    }

    /// Modems by the paths of their objects; nil until they have been told.
    private var modems: [String: Modem]?
    private var isWanted = false
    private var numbers = 0
    private var question: Int?
    private var isOutOfDate = false
    /// Why they cannot be had.
    private(set) var failure: BusFailure?

    /// Devices have one or two. More are not looked at.
    static let most = 16

    var isKnown: Bool { modems != nil || failure != nil }
    var hasModem: Bool { modems?.isEmpty == false }
    /// Whether some modem tells its cell, or would, as far as is known.
    var canTellCells: Bool { modems?.values.contains { $0.canTellCells && $0.refusal == nil } == true }
    /// Why none does that could.
    var refusal: BusFailure? { modems?.sorted { $0.key < $1.key }.compactMap(\.value.refusal).first }

    /// The cell; that of the first modem that is in one.
    var cell: String? {
        guard isWanted, let modems else { return nil }
        return modems.sorted { $0.key < $1.key }.lazy
            .filter { $0.value.tellsCells }
            .compactMap { $0.value.reading.cell.flatMap(CellIdentity.checked) }.first
    }

    // MARK: - Inputs

    /// ModemManager has come.
    mutating func appeared() -> [LocationBusRequest] {
        gone()
        return ask()
    }

    /// It is gone, and what is known of its modems with it.
    mutating func gone() {
        modems = nil
        failure = nil
        question = nil
        isOutOfDate = false
    }

    mutating func want(_ isWanted: Bool) -> [LocationBusRequest] {
        guard isWanted != self.isWanted else { return [] }
        self.isWanted = isWanted
        return isWanted ? setUp() : restore()
    }

    mutating func answered(
        number: Int, _ result: Result<[String: ModemReading], BusFailure>
    ) -> [LocationBusRequest] {
        guard question == number else { return [] }
        question = nil
        if isOutOfDate {
            isOutOfDate = false
            return ask()
        }
        switch result {
        case .failure(let failure): self.failure = failure
        case .success(let readings):
            failure = nil
            let former = modems ?? [:]
            modems = [:]
            for (path, reading) in readings.sorted(by: { $0.key < $1.key }).prefix(Self.most) {
                var modem = former[path] ?? Modem(reading: reading)
                modem.reading = reading
                modems?[path] = modem
            }
        }
        return isWanted ? setUp() : []
    }

    mutating func changed(path: String, _ change: ModemReading) -> [LocationBusRequest] {
        guard var modem = modems?[path] else { return [] }
        modem.reading.capabilities = change.capabilities ?? modem.reading.capabilities
        modem.reading.enabled = change.enabled ?? modem.reading.enabled
        modem.reading.signals = change.signals ?? modem.reading.signals
        modem.reading.cell = change.cell ?? modem.reading.cell
        modems?[path] = modem
        return isWanted ? setUp() : []
    }

    /// Modems have come or gone.
    mutating func modemsChanged() -> [LocationBusRequest] {
        guard question == nil else {
            isOutOfDate = true
            return []
        }
        return ask()
    }

    mutating func setUpAnswered(path: String, number: Int, _ failure: BusFailure?) {
        guard modems?[path]?.question == number else { return }
        modems?[path]?.question = nil
        modems?[path]?.refusal = failure
        guard failure == nil, let reading = modems?[path]?.reading else { return }
        // Announced as well, before or after.
        modems?[path]?.reading.enabled = (reading.enabled ?? 0) | ModemReading.cells
        modems?[path]?.reading.signals = true
    }

    // MARK: - Steps

    private mutating func ask() -> [LocationBusRequest] {
        numbers += 1
        question = numbers
        return [.modems(number: numbers)]
    }

    /// Has every modem announce its cell that can and does not.
    private mutating func setUp() -> [LocationBusRequest] {
        var requests: [LocationBusRequest] = []
        for (path, modem) in (modems ?? [:]).sorted(by: { $0.key < $1.key }) {
            // Set up once: who takes it back has his reasons.
            guard modem.canTellCells, !modem.tellsCells, modem.former == nil else { continue }
            numbers += 1
            modems?[path]?.former = modem.reading
            modems?[path]?.question = numbers
            requests.append(
                .setUp(
                    path: path, sources: (modem.reading.enabled ?? 0) | ModemReading.cells, signals: true,
                    number: numbers))
        }
        return requests
    }

    /// Has them do what they did before.
    private mutating func restore() -> [LocationBusRequest] {
        var requests: [LocationBusRequest] = []
        for (path, modem) in (modems ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard let former = modem.former else { continue }
            modems?[path]?.former = nil
            modems?[path]?.question = nil
            guard modem.refusal == nil else {
                modems?[path]?.refusal = nil
                continue
            }
            numbers += 1
            modems?[path]?.reading.enabled = former.enabled
            modems?[path]?.reading.signals = former.signals
            requests.append(
                .setUp(
                    path: path, sources: former.enabled ?? 0, signals: former.signals ?? false, number: numbers))
        }
        return requests
    }
}
