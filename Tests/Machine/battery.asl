/* A battery and a charger for a machine of qemu, which has none. The scratch registers of the second and third serial ports hold
   what they report: 0x2ff the percentage, 0x3ef the flow (0 charging, 1 on battery). The guest's root writes them through /dev/port. */
DefinitionBlock ("", "SSDT", 2, "NIGHT", "BATTERY", 1)
{
    Scope (\_SB)
    {
        OperationRegion (SCRA, SystemIO, 0x2FF, 1)
        Field (SCRA, ByteAcc, NoLock, Preserve) { PERC, 8 }
        OperationRegion (SCRB, SystemIO, 0x3EF, 1)
        Field (SCRB, ByteAcc, NoLock, Preserve) { FLOW, 8 }

        Device (ADP0)
        {
            Name (_HID, "ACPI0003")
            Name (_PCL, Package () { \_SB })
            Method (_STA) { Return (0x0F) }
            Method (_PSR) { If (FLOW) { Return (0) } Return (1) }
        }

        Device (BAT0)
        {
            Name (_HID, EisaId ("PNP0C0A"))
            Name (_UID, 1)
            Name (_PCL, Package () { \_SB })
            Method (_STA) { Return (0x1F) }
            Method (_BIF)
            {
                /* Milliwatt hours: the design, full, then a lithium battery of 12 V with its warnings. */
                Return (Package () { 0, 50000, 50000, 1, 12000, 5000, 2500, 100, 100, "Night", "1", "LION", "Shift" })
            }
            Name (STAT, Package () { 2, 10000, 0, 12000 })
            Method (_BST, 0, Serialized)
            {
                If (FLOW) { STAT [0] = 1 } Else { STAT [0] = 2 }
                Local0 = PERC
                STAT [2] = Local0 * 500
                Return (STAT)
            }
        }
    }
}
