; A library of a program, as clang makes it of C: functions of numbers, addresses and truths.
target triple = "nvptx64-nvidia-cuda"

define internal float @half_of(float %x) {
  %y = fmul float %x, 5.0e-01
  ret float %y
}

define float @mean_of(float %x, float %y) {
  %sum = fadd float %x, %y
  %mean = call float @half_of(float %sum)
  ret float %mean
}

define float @step(i32 %which) {
  %is = icmp sgt i32 %which, 3
  br i1 %is, label %above, label %below
above:
  ret float 4.0
below:
  %number = sitofp i32 %which to float
  ret float %number
}

; A half is two bytes in headers of C, and a boolean one.
define i16 @without_sign(i16 %half) {
  %bits = and i16 %half, 32767
  ret i16 %bits
}
define zeroext i1 @is_odd(i32 %x) {
  %bit = trunc i32 %x to i1
  ret i1 %bit
}
define i32 @count(i8 %truth) {
  %is = icmp ne i8 %truth, 0
  %count = zext i1 %is to i32
  ret i32 %count
}

define float @at(ptr %place, i32 %index) {
  %wide = sext i32 %index to i64
  %address = getelementptr float, ptr %place, i64 %wide
  %value = load float, ptr %address
  ret float %value
}

; Gives nothing.
define void @note(ptr %place, i32 %value) {
  store i32 %value, ptr %place
  ret void
}

define i32 @answer() {
  ret i32 42
}
