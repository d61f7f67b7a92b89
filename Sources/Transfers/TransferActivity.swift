/// The activity of transfers that keeps a window of doze open.
package struct TransferActivity: Hashable, Sendable {
    /// Tasks that wait for a good moment and run, or would run now if a window were open. Beyond zero it is not a count.
    package var discretionary: Int

    package init(discretionary: Int = 0) {
        self.discretionary = discretionary
    }
}
