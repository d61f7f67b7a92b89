import NightshiftAPI

/// ModemManager's properties of a modem and of its interface `Modem.Location`. A missing property is nil.
struct ModemReading: Equatable, Sendable {
    /// The power state of the modem (MMModemState).
    var state: Int32?
    /// The location sources that the modem supports, and those that are enabled (MMModemLocationSource).
    var capabilities: UInt32?
    var enabled: UInt32?
    /// Whether ModemManager announces changes.
    var signals: Bool?
    /// The text that the cell source reports: `MCC,MNC,LAC,CI,TAC`.
    var cell: String?

    /// The flag of the cell source (MM_MODEM_LOCATION_SOURCE_3GPP_LAC_CI).
    static let cells: UInt32 = 1
    /// The state of an enabled modem (MM_MODEM_STATE_ENABLED). In lower states ModemManager refuses to enable location
    /// sources, and switches enabled ones off.
    static let enabledState: Int32 = 6
}

/// A parser of cell identities.
enum CellIdentity {
    /// Returns the identity of a cell; nil if the modem is not in a cell, or if the text is not valid.
    static func checked(_ text: String) -> String? {
        guard text.utf8.count <= 64 else { return nil }
        let fields = text.split(separator: ",", omittingEmptySubsequences: false)
        // ModemManager before 1.14 does not report a TAC.
        guard (4...5).contains(fields.count), fields.allSatisfy({ $0.utf8.allSatisfy(isHexadecimal) }),
            let country = Int(fields[0]), country > 0, !fields[1].isEmpty, fields[1].utf8.allSatisfy(isDecimal)
        else { return nil }
        // A text without a cell number does not identify a cell.
        guard let cell = UInt64(fields[3], radix: 16), cell > 0 else { return nil }
        return text.uppercased()
    }

    private static func isDecimal(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        isDecimal(byte) || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}

/// The modems that report their cell. While changes are wanted, this value makes the modems announce them.
///
/// A pure value: events from the bus are inputs, requests are outputs.
struct ModemWatch: Equatable {
    private struct Modem: Equatable {
        /// The progress of the modem's setup since the modem was switched on.
        enum Step: Equatable {
            case open
            /// The setup request is in progress. `before` holds the properties at the time of the request.
            case asked(number: Int, before: ModemReading)
            /// The modem was not enabled at the time of the request. The next change of its state causes another
            /// request.
            case tooEarly
            case done
        }

        /// A refusal, and the time until which it is respected.
        struct Refusal: Equatable {
            var failure: BusFailure
            var until: Double
        }

        var reading: ModemReading
        /// The properties before the service changed them.
        var former: ModemReading?
        var step = Step.open
        var refusal: Refusal?

        var isAble: Bool {
            (reading.capabilities ?? 0) & ModemReading.cells != 0
                && reading.state.map { $0 >= ModemReading.enabledState } != false
        }
        var tellsCells: Bool { (reading.enabled ?? 0) & ModemReading.cells != 0 && reading.signals == true }
        /// Whether the modem reports its cell, or will do so after its setup.
        var canTellCells: Bool {
            guard isAble else { return false }
            if tellsCells { return true }
            guard refusal == nil else { return false }
            switch step {
            case .open, .asked: return true
            case .tooEarly, .done: return false
            }
        }

        /// The properties at the time of the request in progress.
        var before: ModemReading? { if case .asked(_, let before) = step { before } else { nil } }

        /// Whether the modem still needs its setup, now or when its refusal ends. The service sets a modem up once each
        /// time it is switched on, and so respects a later change by another program.
        var isToBeSetUp: Bool { isAble && !tellsCells && step == .open }

        mutating func note(_ reading: ModemReading, hasNewState: Bool) {
            self.reading = reading
            guard hasNewState else { return }
            switch step {
            case .open, .asked: break
            case .tooEarly: step = .open
            case .done: if !isAble { step = .open }
            }
        }
    }

    /// The modems by their object paths; nil until the modems are known.
    private var modems: [String: Modem]?
    private var isWanted = false
    private var numbers = 0
    private var question: Int?
    private var isOutOfDate = false
    /// The reason why the modems cannot be read.
    private(set) var failure: BusFailure?

    /// The maximum number of modems that the service follows. Devices have one or two.
    static let most = 16

    var isKnown: Bool { modems != nil || failure != nil }
    var hasModem: Bool { modems?.isEmpty == false }
    /// Whether a modem reports its cell, or will do so after its setup.
    var canTellCells: Bool { modems?.values.contains { $0.canTellCells } == true }
    /// The refusal of the first modem that refused its setup.
    var refusal: BusFailure? { modems?.sorted { $0.key < $1.key }.compactMap(\.value.refusal?.failure).first }
    /// The time at which a modem that refused its setup is asked again.
    var deadline: Double? {
        guard isWanted else { return nil }
        return modems?.values.filter(\.isToBeSetUp).compactMap(\.refusal?.until).min()
    }

    /// The cell of the first modem that reports one.
    var cell: String? {
        guard isWanted, let modems else { return nil }
        return modems.sorted { $0.key < $1.key }.lazy
            .filter { $0.value.tellsCells }
            .compactMap { $0.value.reading.cell.flatMap(CellIdentity.checked) }.first
    }

    // MARK: - Inputs

    /// Handles the start of ModemManager.
    mutating func appeared() -> [LocationBusRequest] {
        gone()
        return ask()
    }

    /// Handles the end of ModemManager, and removes all modems.
    mutating func gone() {
        modems = nil
        failure = nil
        question = nil
        isOutOfDate = false
    }

    /// Sets the current demand, and returns the next requests. It must be called again after every other input, and at
    /// ``deadline``.
    mutating func want(_ isWanted: Bool, now: Double) -> [LocationBusRequest] {
        let wasWanted = self.isWanted
        self.isWanted = isWanted
        if isWanted { return setUp(now: now) }
        return wasWanted ? restore() : []
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
                modem.note(reading, hasNewState: reading.state != modem.reading.state)
                modems?[path] = modem
            }
        }
        return []
    }

    mutating func changed(path: String, _ change: ModemReading) {
        guard var reading = modems?[path]?.reading else { return }
        reading.state = change.state ?? reading.state
        reading.capabilities = change.capabilities ?? reading.capabilities
        reading.enabled = change.enabled ?? reading.enabled
        reading.signals = change.signals ?? reading.signals
        reading.cell = change.cell ?? reading.cell
        modems?[path]?.note(reading, hasNewState: change.state != nil)
    }

    /// Handles the addition or removal of modems.
    mutating func modemsChanged() -> [LocationBusRequest] {
        guard question == nil else {
            isOutOfDate = true
            return []
        }
        return ask()
    }

    mutating func setUpAnswered(path: String, number: Int, _ failure: BusFailure?, now: Double) {
        guard var modem = modems?[path], case .asked(number, let before) = modem.step else { return }
        if let failure {
            modem.step = failure.isTooEarly ? .tooEarly : .open
            modem.refusal =
                failure.isTooEarly ? nil : Modem.Refusal(failure: failure, until: now + GeoClueClient.afterRefusal)
        } else {
            // A modem that was disabled in the meantime has to be set up again.
            modem.step = modem.isAble ? .done : .open
            modem.refusal = nil
            modem.former = modem.former ?? before
            if modem.isAble {
                // ModemManager also announces this change, before or after its answer.
                modem.reading.enabled = (modem.reading.enabled ?? 0) | ModemReading.cells
                modem.reading.signals = true
            }
        }
        modems?[path] = modem
    }

    // MARK: - Steps

    private mutating func ask() -> [LocationBusRequest] {
        numbers += 1
        question = numbers
        return [.modems(number: numbers)]
    }

    /// Returns the requests that make all capable modems announce their cell.
    private mutating func setUp(now: Double) -> [LocationBusRequest] {
        var requests: [LocationBusRequest] = []
        for (path, modem) in (modems ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard modem.isToBeSetUp else { continue }
            if let refusal = modem.refusal, refusal.until > now { continue }
            numbers += 1
            modems?[path]?.step = .asked(number: numbers, before: modem.reading)
            requests.append(
                .setUp(
                    path: path, sources: (modem.reading.enabled ?? 0) | ModemReading.cells, signals: true,
                    number: numbers))
        }
        return requests
    }

    /// Returns the requests that restore the earlier setup of all modems.
    private mutating func restore() -> [LocationBusRequest] {
        var requests: [LocationBusRequest] = []
        for (path, modem) in (modems ?? [:]).sorted(by: { $0.key < $1.key }) {
            modems?[path]?.former = nil
            modems?[path]?.step = .open
            modems?[path]?.refusal = nil
            guard let former = modem.former ?? modem.before else { continue }
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

extension BusFailure {
    /// Whether the request failed because the modem is not enabled.
    fileprivate var isTooEarly: Bool { text.contains("Error.Core.WrongState") }
}
